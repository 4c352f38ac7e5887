import { unknownChainText } from '../../core/config/unknown-chain.ts'
import { CHAIN_ID_BY_NAME, type ChainId } from '../../schemas/chains.ts'
import { UsageError } from './usage-error.ts'

/** Id of the chain that `--chain` names. Throws `UsageError`. */
export const parseChainOption = (word: string): ChainId => {
  const chain = CHAIN_ID_BY_NAME[word]
  if (chain === undefined) throw new UsageError([`--chain: ${unknownChainText(word)}`])
  return chain
}
