/** A JSON object as a node sends it. */
export type Json = Readonly<Record<string, unknown>>

/** A JSON-RPC call as it came. */
export interface ReplayCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** What a node says to a call. */
export type ReplayResponse =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }

/** How far the chain of a replay server has grown. */
export interface ReplayView {
  readonly head: number
  readonly final: number
}

/** A long chain made of recorded blocks, in the words of its nodes. Pure: every block follows from its height. */
export interface ReplayChain {
  readonly id: string
  /** Methods that tell which chain a node serves. */
  readonly identity: readonly string[]
  answer(call: ReplayCall, view: ReplayView): ReplayResponse
  /** The answer of a node that is confused: another block, other receipts, another shape. */
  wrong(call: ReplayCall, view: ReplayView): unknown
  /** What a node of another chain says to a question for the chain. */
  foreign(): unknown
  /** Method and body of the notice of a block for those who subscribed with a call; undefined where the height has no block. */
  notice(
    subscribed: ReplayCall,
    height: number,
    view: ReplayView,
  ): { readonly method: string; readonly result: unknown } | undefined
  /** False: the chain skipped this height. */
  hasBlock(height: number): boolean
  /** Name of the block of a height. */
  hashAt(height: number): string
}

/** What a node says to a call that it does not have. */
export const METHOD_NOT_FOUND: ReplayResponse = {
  error: { code: -32_601, message: 'Method not found' },
}
