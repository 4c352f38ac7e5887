import { JSON_FRAMES } from './json-frames.ts'
import { PROTOBUF_FRAMES } from './protobuf-frames.ts'
import type { Command, PublicationFrame, Reply, UnsubscribeReason } from './protocol.ts'

/** What the protocol may be written in. */
export type Encoding = 'json' | 'protobuf'

/** One outgoing message: text, or bytes. */
export type Frame = string | Uint8Array

/** Writes and reads messages of a connection. Pure. */
export interface FrameCodec {
  /**
   * Commands of one message, at most `MAX_COMMANDS`, or undefined where it is not such a message and the connection must close
   * with 3501. Holds nothing of `message`.
   */
  parse(message: Uint8Array): readonly Command[] | undefined
  formatReply(reply: Reply): Frame
  /** A publication to the subscribers of a literal channel name. */
  formatPush(literal: string, publication: PublicationFrame): Frame
  /** The end of a subscription. */
  formatUnsubscribe(literal: string, why: UnsubscribeReason): Frame
  readonly ping: Frame
  /** Several frames as one message. */
  join(frames: readonly Frame[]): Frame
}

/** One codec per encoding. */
export const FRAME_CODECS: Readonly<Record<Encoding, FrameCodec>> = {
  json: JSON_FRAMES,
  protobuf: PROTOBUF_FRAMES,
}
