import type { ChainRow } from '../../schemas/chains.ts'
import type { ExamplesByChain } from './welcome.ts'

/** Examples of the API document's parameters, by name. */
type Subjects = Readonly<Record<string, string>>

/** What the examples of the API document are about: the first chain of the process that has something to show. */
export interface DocumentSubjectsOfDemo {
  /** undefined until something is known. */
  current(): Subjects | undefined
  set(examples: ExamplesByChain): void
}

/** Subjects that are set as the chains get their first trades. */
export const createDocumentSubjects = (chains: readonly ChainRow[]): DocumentSubjectsOfDemo => {
  let subjects: Subjects | undefined
  return {
    current: () => subjects,
    set: (examples) => {
      const row = chains.find(({ apiName }) => examples[apiName] !== undefined)
      const known = row && examples[row.apiName]
      if (row === undefined || known === undefined || subjects?.chain === row.apiName) return
      const { token, pool, wallet, txHash } = known
      subjects = {
        chain: row.apiName,
        tokenAddress: token,
        tokenAddresses: token,
        poolAddress: pool,
        pair: `${token}-${row.wrappedNative}`,
        walletAddress: wallet,
        walletAddresses: wallet,
        maker: wallet,
        transactionsSignature: txHash,
        keyword: token,
        q: token,
        inputMint: row.wrappedNative,
        outputMint: token,
      }
    },
  }
}
