"""The PyPI package `pi-agent-python-sdk`, unmodified, against Pier.

The SDK runs `pi --version` before anything else and refuses what it does not know, so Pier is started under the
name `pi`, as a person would install it in pi's place.
"""

import asyncio
import os
import pathlib
import sys
import traceback

from pi_agent import AsyncPiClient, PiClient, PiCommandError, PiRunError

ANSWERS = {"select": "right", "confirm": True, "input": "Ada", "editor": "edited"}
ASK_ALL = "\n".join(f'@tool ask {{"kind":"{kind}"}}' for kind in ANSWERS)
LONG = "@delay 50\n@chunk 2\n@text " + "a long answer " * 200


def equal(left, right):
    """`assert` with both sides in the message."""
    assert left == right, f"{left!r} is not {right!r}"


def results(events):
    """Text of the results of all finished tools, sorted: tools of one message finish in any order."""
    ends = [event.raw for event in events if event.type == "tool_execution_end"]
    return sorted(end["result"]["content"][0]["text"] for end in ends)


def roles(result):
    """Who said something during the run; pi also shows the system prompt as a message when it changes."""
    return [message["role"] for message in result.messages if message["role"] != "system"]


class Person:
    """Answers dialogs; with a message it steers first, while the dialog is open."""

    def __init__(self):
        self.client = None
        self.message = None

    async def answer(self, request):
        if self.message is not None:
            await self.client.steer(self.message)
            state = await self.client.get_state()
            equal(state["pendingMessageCount"], 1)
        return ANSWERS.get(request["method"])


async def collect(stream):
    return [event async for event in stream]


async def tool_call(client, _person):
    async with client.stream('@tool bash {"command":"printf from-bash"}') as stream:
        events = await collect(stream)
        result = await stream.result()
    assert "from-bash" in results(events)[0], results(events)
    assert "from-bash" in result.text, result.text
    equal(roles(result), ["user", "assistant", "toolResult", "assistant"])
    equal(result.stop_reason, "stop")
    assert result.usage.total_tokens > 0, result.usage
    assert "".join(event.text_delta or "" for event in events) == result.text


async def dialogs(client, _person):
    async with client.stream(ASK_ALL) as stream:
        events = await collect(stream)
        await stream.result()
    equal(
        results(events),
        ["confirm gave true", 'editor gave "edited"', 'input gave "Ada"', 'select gave "right"'],
    )


async def steering(client, person):
    person.message = "turn left instead"
    result = await client.run('@tool ask {"kind":"confirm"}')
    person.message = None
    equal(result.text, "echo: turn left instead")
    equal(roles(result), ["user", "assistant", "toolResult", "user", "assistant"])


async def abort(client, _person):
    aborted = False
    try:
        async with client.stream(LONG) as stream:
            async for event in stream:
                if event.text_delta is not None and not aborted:
                    aborted = True
                    await client.abort()
            await stream.result()
    except PiRunError as error:
        equal(error.result.stop_reason, "aborted")
    else:
        raise AssertionError("the run was not aborted")
    # Leaving a stream early makes the SDK clear the queue and abort.
    async with client.stream(LONG) as stream:
        async for event in stream:
            if event.text_delta is not None:
                break
    equal((await client.get_state())["isStreaming"], False)
    equal((await client.run("still there?")).text, "echo: still there?")


async def commands(client, _person):
    models = [model["id"] for model in await client.get_available_models()]
    assert "scripted-think" in models, models
    equal((await client.set_model("scripted", "scripted-think"))["id"], "scripted-think")
    try:
        await client.set_model("nobody", "nothing")
    except PiCommandError as error:
        assert "nobody/nothing" in error.error, error.error
    else:
        raise AssertionError("an unknown model was accepted")
    await client.set_thinking_level("low")
    assert "low" in await client.get_available_thinking_levels()
    assert isinstance((await client.cycle_thinking_level())["level"], str)
    assert isinstance((await client.cycle_model())["model"]["id"], str)
    await client.set_steering_mode("all")
    await client.set_follow_up_mode("all")
    await client.set_auto_compaction(False)
    await client.set_auto_retry(False)
    await client.abort_retry()
    shell = await client.bash("printf out; exit 3")
    equal([shell["output"], shell["exitCode"], shell["cancelled"]], ["out", 3, False])
    await client.abort_bash()
    stats = await client.get_session_stats()
    assert stats["userMessages"] >= 5 and stats["tokens"]["total"] > 0, stats
    assert any(command["name"] == "greet" for command in await client.get_commands())
    await client.set_session_name("a name")
    equal((await client.get_state())["sessionName"], "a name")
    equal((await client.export_html(output_path="page.html"))["path"], "page.html")
    assert isinstance((await client.compact())["summary"], str)
    entries = await client.get_entries()
    equal(entries["entries"][-1]["id"], entries["leafId"])
    equal((await client.get_tree())["leafId"], entries["leafId"])
    first = (await client.get_state())["sessionFile"]
    messages = await client.get_fork_messages()
    equal((await client.fork(messages[0]["entryId"]))["text"], messages[0]["text"])
    equal(await client.switch_session(first), {"cancelled": False})
    equal(await client.clone(), {"cancelled": False})
    equal(await client.new_session(), {"cancelled": False})
    equal(await client.get_last_assistant_text(), None)
    await client.follow_up("afterwards")
    equal(await client.clear_queue(), {"steering": [], "followUp": ["afterwards"]})
    assert all(message["role"] == "system" for message in await client.get_messages())


async def asynchronous(pi):
    person = Person()
    async with AsyncPiClient(executable=pi, ui_handler=person.answer) as client:
        person.client = client
        equal(client.pi_version, "1.6.0")
        for part in (tool_call, dialogs, steering, abort, commands):
            try:
                await part(client, person)
            except BaseException:
                traceback.print_exc(file=sys.stdout)
                print(f"FAILED: {part.__name__}\n{client.stderr_tail}")
                raise SystemExit(1) from None
            print(f"ok: {part.__name__}", flush=True)


def synchronous(pi):
    """The same SDK's blocking client, which runs the other one in a thread."""
    with PiClient(executable=pi, ui_handler=lambda request: ANSWERS.get(request["method"])) as client:
        assert 'select gave "right"' in client.run('@tool ask {"kind":"select"}').text
    print("ok: synchronous", flush=True)


def main():
    directory = pathlib.Path("bin")
    directory.mkdir()
    pi = directory.absolute() / "pi"
    pi.symlink_to(os.environ["PIER_BIN"])
    asyncio.run(asynchronous(pi))
    synchronous(pi)


main()
