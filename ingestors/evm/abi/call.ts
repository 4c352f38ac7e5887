/** What a call gave; undefined: it was reverted. */
export type CallResult = string | undefined

/** Answer to one call of a contract at a block. */
export type CallAnswer =
  | { readonly kind: 'value'; readonly data: string }
  | { readonly kind: 'reverted' }
  /** The node has no state for that block: a typed null. */
  | { readonly kind: 'no-state' }

/** One `eth_call`. */
export interface Call {
  readonly to: string
  readonly data: string
}

/** Reads state at a block's own hash; retried until answered, aborts with the signal. */
export interface StateReader {
  /** Answers in the order of the calls. */
  calls(
    calls: readonly Call[],
    blockHash: string,
    signal: AbortSignal,
  ): Promise<readonly CallAnswer[]>
}
