/** Facts of prediction markets that no event tells. */
import { CHAINS, type ChainId, type ChainRow } from './chains.ts'

const hasPredictions = (id: ChainId): boolean => {
  const { feeds }: ChainRow = CHAINS[id]
  return feeds.includes('predictions')
}
const [predictionChain, ...others] = (Object.keys(CHAINS) as ChainId[]).filter(hasPredictions)
if (predictionChain === undefined || others.length > 0) {
  throw new Error('paths of prediction markets name no chain: exactly one row may have that feed')
}
/** The one chain whose prediction markets are read. */
export const PREDICTION_CHAIN = predictionChain

/** Decimals of outcome tokens and of what they are paid in. Source: Polymarket/ctf-exchange. */
export const PREDICTION_DECIMALS = 6

/** What the first exchanges and the market makers are paid in, and the second ones. Source: Polymarket/ctf-exchange-v2 README. */
export const PREDICTION_COLLATERALS = [
  { address: '0x2791bca1f2de4661ed88a30c99a7a9449aa84174', symbol: 'USDC.e' },
  { address: '0xc011a7e12a19f7b1f670d46f03b03f3342e82dfb', symbol: 'PUSD' },
] as const

/**
 * Where the adapter of groups of questions leaves outcome tokens that were converted: an address without an owner. Source:
 * Polymarket/neg-risk-ctf-adapter NegRiskAdapter.sol, the first 20 bytes of keccak256("NO_TOKEN_BURN_ADDRESS").
 */
export const CONVERTED_TOKENS_ADDRESS = '0xa5ef39c3d3e10d0b270233af41cac69796b12966'
