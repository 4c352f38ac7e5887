import { type Address, type Hex, parseAbi, parseEther } from 'viem'
import type { ChainExtra } from '../../../core/config/settings.ts'
import { type AnvilClient, devAccount } from './anvil.ts'
import { createDeployer } from './contract-deployer.ts'
import {
  type BookContracts,
  type BookPair,
  deployLiquidityBooks,
  type FeeTerms,
} from './liquidity-book.ts'
import { deployUniswapMarket, type UniswapMarket } from './uniswap-v2-v3.ts'

const ROUTER = parseAbi([
  'struct Path { uint256[] pairBinSteps; uint8[] versions; address[] tokenPath; }',
  'function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, Path path, address to, uint256 deadline)',
  'function swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, Path path, address to, uint256 deadline)',
])

/** A swap over one pair. */
export interface BookSwap {
  readonly sellsX: boolean
  readonly exactIn: boolean
  readonly amount: bigint
}

/** A pair and its contracts. */
export interface BookVenue {
  readonly dex: 'lfj_v2_1' | 'lfj_v2_2'
  readonly contracts: BookContracts
  readonly pair: BookPair
  /** Swaps for the first account through the router. */
  swap(wanted: BookSwap): Promise<Hex>
}

/** A market of Uniswap with pairs of Liquidity Book beside it. */
export interface BookMarket {
  readonly uniswap: UniswapMarket
  /** Its Y is USD, its X WETH. */
  readonly v2_1: BookVenue
  /** The same tokens. */
  readonly v2_2: BookVenue
  /** Its Y is WETH, its X a further token. */
  readonly second: BookVenue
  readonly extra: ChainExtra
}

/** Fees of 0.4 % and more that move with volatility: the periods are those of the pairs in use. */
export const FEE_TERMS: FeeTerms = [20_000, 30, 600, 5_000, 40_000, 1_000, 350_000]

/** Bins at the prices of 2,000 and of a thousandth at a step of 20 basis points; 8,388,608 is at the price of 1. */
const AT_2000 = 8_388_608 + 3_804
const AT_A_THOUSANDTH = 8_388_608 - 3_457

/** Deploys the market; the pairs hold 40 bins each. */
export const deployBookMarket = async (
  client: AnvilClient,
  feeTerms: FeeTerms = FEE_TERMS,
): Promise<BookMarket> => {
  const uniswap = await deployUniswapMarket(client)
  const { usd, weth, token, extra } = uniswap
  // From here on WETH has a price.
  await uniswap.swapV2([usd, weth], parseEther('100'))
  const books = await deployLiquidityBooks(client, weth, [usd, weth])
  const pairOf = { tokenX: weth, tokenY: usd, binStep: 20 }
  const amounts = [parseEther('400'), parseEther('800000')] as const
  const venueOf = async (
    dex: BookVenue['dex'],
    terms: Omit<BookPair, 'address'>,
    bin: number,
    deposited: readonly [bigint, bigint],
  ): Promise<BookVenue> => {
    const contracts = dex === 'lfj_v2_1' ? books.v2_1 : books.v2_2
    const pair = await contracts.open(terms, bin, feeTerms)
    await contracts.deposit(pair, { above: 19, below: 19 }, deposited)
    return { dex, contracts, pair, swap: swapOver(client, { dex, contracts, pair }) }
  }
  const v2_1 = await venueOf('lfj_v2_1', pairOf, AT_2000, amounts)
  const v2_2 = await venueOf('lfj_v2_2', pairOf, AT_2000 + 2, amounts)
  const other = { tokenX: token, tokenY: weth, binStep: 20 }
  const few = [parseEther('40000'), parseEther('40')] as const
  const second = await venueOf('lfj_v2_2', other, AT_A_THOUSANDTH, few)
  const low = (address: Address): string => address.toLowerCase()
  return {
    uniswap,
    v2_1,
    v2_2,
    second,
    extra: {
      ...extra,
      factories: [
        ...(extra.factories ?? []),
        { protocol: 'lfj_v2_1', factory: low(books.v2_1.factory) },
        { protocol: 'lfj_v2_2', factory: low(books.v2_2.factory) },
      ],
      routers: [
        ...(extra.routers ?? []),
        { protocol: 'lfj_v2_1', router: low(books.v2_1.router) },
        { protocol: 'lfj_v2_2', router: low(books.v2_2.router) },
      ],
    },
  }
}

const swapOver = (
  client: AnvilClient,
  { dex, contracts, pair }: Pick<BookVenue, 'dex' | 'contracts' | 'pair'>,
) => {
  const { pay } = createDeployer(client, {})
  const { tokenX, tokenY, binStep } = pair
  return ({ sellsX, exactIn, amount }: BookSwap): Promise<Hex> => {
    const path = {
      pairBinSteps: [BigInt(binStep)],
      versions: [dex === 'lfj_v2_1' ? 2 : 3],
      tokenPath: sellsX ? [tokenX, tokenY] : [tokenY, tokenX],
    }
    const most = exactIn ? 0n : 2n ** 127n
    return pay({
      address: contracts.router,
      abi: ROUTER,
      functionName: exactIn ? 'swapExactTokensForTokens' : 'swapTokensForExactTokens',
      args: [amount, most, path, devAccount(0).address, 2n ** 63n],
    })
  }
}
