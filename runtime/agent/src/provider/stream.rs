//! Strict assembly of a provider's events into one message.
//!
//! A stream that breaks the rules (spec/extension-api.md §7.6) becomes a failed answer, so none of its tool calls can
//! run. Work per event is proportional to the event, never to the message so far.

use std::collections::{HashMap, HashSet};

use pier_protocol::event::{AssistantMessageEvent, PartialMessage, ToolCallSnapshot};
use pier_protocol::message::{
    AssistantMessage, Block, StopReason, TextBlock, ThinkingBlock, ToolCallBlock,
};

use super::AssistantEvent;

/// How a stream broke the rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Provider stream is invalid: {0}")]
pub struct StreamFault(pub String);

fn fault(text: impl Into<String>) -> StreamFault {
    StreamFault(text.into())
}

/// What one event means for the session.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a step is consumed where it is made"
)]
pub enum Step {
    /// The answer began.
    Started,
    Update(AssistantMessageEvent),
    /// Nothing to announce.
    Quiet,
    /// The final message.
    Finished(Box<AssistantMessage>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    ToolCall,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Thinking => "thinking",
            Kind::ToolCall => "tool call",
        }
    }
}

/// Builds the message of one stream.
pub struct Assembler {
    partial: PartialMessage,
    open: HashMap<usize, Kind>,
    /// Number of blocks so far.
    blocks: usize,
    started: bool,
    finished: bool,
}

impl Assembler {
    /// `skeleton` carries api, provider, model and timestamp.
    pub fn new(skeleton: AssistantMessage) -> Self {
        Assembler {
            partial: PartialMessage::new(skeleton),
            open: HashMap::new(),
            blocks: 0,
            started: false,
            finished: false,
        }
    }

    /// The growing message.
    pub fn partial(&self) -> &PartialMessage {
        &self.partial
    }

    pub fn has_started(&self) -> bool {
        self.started
    }

    /// Takes one event.
    ///
    /// # Errors
    /// The event breaks the rules; the stream must not be read further.
    pub fn accept(&mut self, event: AssistantEvent) -> Result<Step, StreamFault> {
        if self.finished {
            return Err(fault("an event came after the end"));
        }
        match event {
            AssistantEvent::Start {} if self.started => Err(fault("it started twice")),
            AssistantEvent::Start {} => {
                self.started = true;
                Ok(Step::Started)
            }
            AssistantEvent::Alive {} => Ok(Step::Quiet),
            AssistantEvent::Usage { usage } => {
                self.partial.update(|message| message.usage = usage);
                Ok(Step::Quiet)
            }
            AssistantEvent::Done { message } => self
                .done(message)
                .map(|message| Step::Finished(Box::new(message))),
            AssistantEvent::Error { error } => {
                self.finished = true;
                Ok(Step::Finished(Box::new(self.failed(error))))
            }
            _ if !self.started => Err(fault("content came before the start")),
            event => self.content(event).map(Step::Update),
        }
    }

    /// The stream ended: says why that is too early, if it is.
    pub fn ended(&self) -> Option<StreamFault> {
        (!self.finished).then(|| fault("it ended without a final event"))
    }

    /// What has been received so far, as a message that failed with `text`.
    pub fn fail(&self, stop_reason: StopReason, text: impl Into<String>) -> AssistantMessage {
        let mut message = self.partial.snapshot();
        message.stop_reason = stop_reason;
        message.error_message = Some(text.into());
        message
    }

    fn content(&mut self, event: AssistantEvent) -> Result<AssistantMessageEvent, StreamFault> {
        use AssistantMessageEvent as Out;
        Ok(match event {
            AssistantEvent::TextStart { content_index } => {
                self.begin(content_index, Kind::Text, Block::text(""))?;
                Out::TextStart { content_index }
            }
            AssistantEvent::ThinkingStart { content_index } => {
                self.begin(
                    content_index,
                    Kind::Thinking,
                    Block::Thinking(ThinkingBlock::default()),
                )?;
                Out::ThinkingStart { content_index }
            }
            AssistantEvent::ToolCallStart {
                content_index,
                id,
                tool_name,
            } => {
                let call = ToolCallBlock {
                    id: id.clone(),
                    name: tool_name.clone(),
                    ..ToolCallBlock::default()
                };
                self.begin(content_index, Kind::ToolCall, Block::ToolCall(call))?;
                Out::ToolCallStart {
                    content_index,
                    id,
                    tool_name,
                }
            }
            AssistantEvent::TextDelta {
                content_index,
                delta,
            } => {
                self.expect_open(content_index, Kind::Text)?;
                self.change(content_index, |block| {
                    if let Block::Text(block) = block {
                        block.text.push_str(&delta);
                    }
                });
                Out::TextDelta {
                    content_index,
                    delta,
                }
            }
            AssistantEvent::ThinkingDelta {
                content_index,
                delta,
            } => {
                self.expect_open(content_index, Kind::Thinking)?;
                self.change(content_index, |block| {
                    if let Block::Thinking(block) = block {
                        block.thinking.push_str(&delta);
                    }
                });
                Out::ThinkingDelta {
                    content_index,
                    delta,
                }
            }
            AssistantEvent::ToolCallDelta {
                content_index,
                delta,
            } => {
                self.expect_open(content_index, Kind::ToolCall)?;
                self.partial.append_arguments(content_index, &delta);
                Out::ToolCallDelta {
                    content_index,
                    delta,
                }
            }
            AssistantEvent::TextEnd {
                content_index,
                content,
                text_signature,
            } => {
                self.close(content_index, Kind::Text)?;
                let text = content.clone();
                self.change(content_index, |block| {
                    *block = Block::Text(TextBlock {
                        text,
                        text_signature,
                        ..TextBlock::default()
                    });
                });
                Out::TextEnd {
                    content_index,
                    content,
                }
            }
            AssistantEvent::ThinkingEnd {
                content_index,
                content,
                thinking_signature,
            } => {
                self.close(content_index, Kind::Thinking)?;
                let thinking = content.clone();
                self.change(content_index, |block| {
                    *block = Block::Thinking(ThinkingBlock {
                        thinking,
                        thinking_signature,
                        ..ThinkingBlock::default()
                    });
                });
                Out::ThinkingEnd {
                    content_index,
                    content,
                }
            }
            AssistantEvent::ToolCallEnd {
                content_index,
                tool_call,
            } => {
                self.close(content_index, Kind::ToolCall)?;
                self.same_call(content_index, &tool_call)?;
                self.partial.close_arguments(content_index);
                let call = tool_call.clone();
                self.change(content_index, |block| *block = Block::ToolCall(call));
                Out::ToolCallEnd {
                    content_index,
                    tool_call: ToolCallSnapshot(tool_call),
                }
            }
            AssistantEvent::Start {}
            | AssistantEvent::Alive {}
            | AssistantEvent::Usage { .. }
            | AssistantEvent::Done { .. }
            | AssistantEvent::Error { .. } => return Err(fault("an event came out of place")),
        })
    }

    fn begin(&mut self, index: usize, kind: Kind, block: Block) -> Result<(), StreamFault> {
        if index != self.blocks {
            return Err(fault(format!(
                "block {index} began where block {} was expected",
                self.blocks
            )));
        }
        self.blocks += 1;
        self.open.insert(index, kind);
        self.partial.update(|message| message.content.push(block));
        Ok(())
    }

    fn expect_open(&self, index: usize, kind: Kind) -> Result<(), StreamFault> {
        match self.open.get(&index) {
            Some(open) if *open == kind => Ok(()),
            Some(open) => Err(fault(format!(
                "block {index} is a {} and got a {} event",
                open.name(),
                kind.name()
            ))),
            None => Err(fault(format!("block {index} is not open"))),
        }
    }

    fn close(&mut self, index: usize, kind: Kind) -> Result<(), StreamFault> {
        self.expect_open(index, kind)?;
        self.open.remove(&index);
        Ok(())
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut Block)) {
        self.partial.update(|message| {
            if let Some(block) = message.content.get_mut(index) {
                change(block);
            }
        });
    }

    /// A tool call keeps the id and name it was announced with. A provider that learns them late announces them empty.
    fn same_call(&self, index: usize, call: &ToolCallBlock) -> Result<(), StreamFault> {
        self.partial
            .peek(|message| match message.content.get(index) {
                Some(Block::ToolCall(known)) if !known.id.is_empty() && known.id != call.id => {
                    Err(fault(format!(
                        "tool call {index} changed its id from \"{}\" to \"{}\"",
                        known.id, call.id
                    )))
                }
                Some(Block::ToolCall(known))
                    if !known.name.is_empty() && known.name != call.name =>
                {
                    Err(fault(format!(
                        "tool call \"{}\" changed its name from \"{}\" to \"{}\"",
                        call.id, known.name, call.name
                    )))
                }
                Some(Block::ToolCall(_)) => Ok(()),
                _ => Err(fault(format!("block {index} is not a tool call"))),
            })
    }

    fn done(&mut self, mut message: AssistantMessage) -> Result<AssistantMessage, StreamFault> {
        if let Some(index) = self
            .open
            .iter()
            .find(|(_, kind)| **kind == Kind::ToolCall)
            .map(|(index, _)| *index)
        {
            return Err(fault(format!("it ended inside tool call {index}")));
        }
        if matches!(
            message.stop_reason,
            StopReason::Pending | StopReason::Error | StopReason::Aborted
        ) {
            return Err(fault(format!(
                "it ended as done with stop reason \"{}\"",
                message.stop_reason.as_str()
            )));
        }
        let announced: Vec<(String, String)> = self.partial.peek(|partial| {
            partial
                .tool_calls()
                .map(|call| (call.id.clone(), call.name.clone()))
                .collect()
        });
        let calls: Vec<(String, String)> = message
            .tool_calls()
            .map(|call| (call.id.clone(), call.name.clone()))
            .collect();
        // A provider that does not stream at all announces nothing.
        if self.blocks > 0 && announced != calls {
            return Err(fault(
                "the final message has other tool calls than were streamed",
            ));
        }
        let mut seen = HashSet::new();
        for (id, name) in &calls {
            if id.is_empty() || name.is_empty() {
                return Err(fault("a tool call has no id or no name"));
            }
            if !seen.insert(id) {
                return Err(fault(format!("two tool calls have the id \"{id}\"")));
            }
        }
        self.finished = true;
        self.complete(&mut message);
        Ok(message)
    }

    fn failed(&self, mut message: AssistantMessage) -> AssistantMessage {
        if !message.stop_reason.is_failure() {
            message.stop_reason = StopReason::Error;
        }
        if message.content.is_empty() {
            message.content = self.partial.with(|partial| partial.content.clone());
        }
        self.complete(&mut message);
        message
    }

    /// Fills in what a provider may leave out.
    fn complete(&self, message: &mut AssistantMessage) {
        self.partial.peek(|partial| {
            for (own, known) in [
                (&mut message.api, &partial.api),
                (&mut message.provider, &partial.provider),
                (&mut message.model, &partial.model),
            ] {
                if own.is_empty() {
                    own.clone_from(known);
                }
            }
            if message.timestamp == 0 {
                message.timestamp = partial.timestamp;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assembler() -> Assembler {
        Assembler::new(AssistantMessage {
            provider: "p".into(),
            timestamp: 7,
            ..AssistantMessage::default()
        })
    }

    fn call(id: &str) -> ToolCallBlock {
        ToolCallBlock {
            id: id.into(),
            name: "t".into(),
            ..ToolCallBlock::default()
        }
    }

    fn tool_start(id: &str) -> AssistantEvent {
        AssistantEvent::ToolCallStart {
            content_index: 0,
            id: id.into(),
            tool_name: "t".into(),
        }
    }

    fn done(blocks: Vec<Block>) -> AssistantEvent {
        AssistantEvent::Done {
            message: AssistantMessage {
                content: blocks,
                stop_reason: StopReason::ToolUse,
                ..AssistantMessage::default()
            },
        }
    }

    fn feed(events: Vec<AssistantEvent>) -> Result<Assembler, StreamFault> {
        let mut assembler = assembler();
        for event in events {
            assembler.accept(event)?;
        }
        Ok(assembler)
    }

    #[test]
    fn a_regular_stream_gives_the_final_message() {
        let mut assembler = feed(vec![
            AssistantEvent::Start {},
            AssistantEvent::TextStart { content_index: 0 },
            AssistantEvent::TextDelta {
                content_index: 0,
                delta: "he".into(),
            },
            AssistantEvent::TextDelta {
                content_index: 0,
                delta: "y".into(),
            },
        ])
        .unwrap();
        assert_eq!(assembler.partial().snapshot().content, [Block::text("hey")]);
        let step = assembler.accept(done(vec![Block::text("hey")])).unwrap();
        let Step::Finished(message) = step else {
            panic!("{step:?}")
        };
        assert_eq!((message.provider.as_str(), message.timestamp), ("p", 7));
        assert!(assembler.ended().is_none());
    }

    #[test]
    fn a_stream_without_a_final_event_is_a_fault() {
        let assembler = feed(vec![AssistantEvent::Start {}]).unwrap();
        assert!(
            assembler
                .ended()
                .unwrap()
                .to_string()
                .contains("without a final event")
        );
    }

    #[test]
    fn tool_calls_must_stay_what_was_announced() {
        let end = |id: &str| AssistantEvent::ToolCallEnd {
            content_index: 0,
            tool_call: call(id),
        };
        let cases = [
            vec![AssistantEvent::Start {}, tool_start("a"), end("b")],
            vec![
                AssistantEvent::Start {},
                tool_start("a"),
                end("a"),
                done(vec![Block::ToolCall(call("b"))]),
            ],
            vec![
                AssistantEvent::Start {},
                tool_start("a"),
                done(vec![Block::ToolCall(call("a"))]),
            ],
            vec![
                AssistantEvent::Start {},
                tool_start("a"),
                end("a"),
                done(vec![Block::ToolCall(call("a")), Block::ToolCall(call("c"))]),
            ],
            vec![
                AssistantEvent::Start {},
                done(vec![Block::ToolCall(call("a")), Block::ToolCall(call("a"))]),
            ],
        ];
        for (number, events) in cases.into_iter().enumerate() {
            assert!(feed(events).is_err(), "case {number}");
        }
        assert!(feed(vec![AssistantEvent::Start {}, tool_start(""), end("late")]).is_ok());
    }

    #[test]
    fn events_out_of_place_are_faults() {
        let text = |index| AssistantEvent::TextStart {
            content_index: index,
        };
        let delta = |index| AssistantEvent::TextDelta {
            content_index: index,
            delta: "x".into(),
        };
        for events in [
            vec![text(0)],
            vec![AssistantEvent::Start {}, AssistantEvent::Start {}],
            vec![AssistantEvent::Start {}, text(1)],
            vec![AssistantEvent::Start {}, delta(0)],
            vec![AssistantEvent::Start {}, tool_start("a"), delta(0)],
            vec![AssistantEvent::Start {}, done(vec![]), delta(0)],
        ] {
            assert!(feed(events.clone()).is_err(), "{events:?}");
        }
    }
}
