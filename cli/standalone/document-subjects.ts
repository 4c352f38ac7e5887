import type { ChainRow } from '../../schemas/chains.ts'
import type { ExamplesByChain } from './welcome.ts'

/** Examples of the API document's parameters, by name. */
type Subjects = Readonly<Record<string, string | number>>

/** How far the examples of a time that begins something lie back. */
const SPAN_MS = 3_600_000
/** Parameters that begin and that end a span of time; as one moment the end is meant. */
const STARTS = ['from', 'fromTimestamp', 'timeFrom', 'afterTimestamp'] as const
const ENDS = ['timestamp', 'time', 'to', 'toTimestamp', 'timeTo', 'beforeTimestamp'] as const

/** What the examples of the API document are about: the first chain of the process that has something to show. */
export interface DocumentSubjectsSetter {
  /** undefined until something is known. */
  current(): Subjects | undefined
  set(examples: ExamplesByChain): void
}

/** Subjects that are set as the chains get their first trades. */
export const createDocumentSubjects = (
  chains: readonly ChainRow[],
  nowMs: () => number,
): DocumentSubjectsSetter => {
  let subjects: Subjects | undefined
  return {
    current: () => subjects,
    set: (examples) => {
      const row = chains.find(({ apiName }) => examples[apiName] !== undefined)
      const known = row && examples[row.apiName]
      if (row === undefined || known === undefined || subjects?.chain === row.apiName) return
      const { token, quote, pool, wallet, txHash } = known
      const endMs = nowMs()
      subjects = {
        chain: row.apiName,
        tokenAddress: token,
        tokenAddresses: token,
        poolAddress: pool,
        pair: `${token}-${quote}`,
        devAddress: wallet,
        walletAddress: wallet,
        walletAddresses: wallet,
        maker: wallet,
        transactionsSignature: txHash,
        keyword: token,
        q: token,
        inputMint: quote,
        outputMint: token,
        ...Object.fromEntries(STARTS.map((name) => [name, endMs - SPAN_MS])),
        ...Object.fromEntries(ENDS.map((name) => [name, endMs])),
      }
    },
  }
}
