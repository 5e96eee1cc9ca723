// The same module under the names of oh-my-pi and xcsh, and the value of `pi.pi` of their extensions: what they do otherwise (sdk-exports §2.5).

export * from "./index.ts";
export { serializeWithThinking as serializeConversation } from "./conversation.ts";
