import assert from 'node:assert/strict'
import { type Address, type Hex, parseAbi, parseTransaction } from 'viem'
import type { ChainExtra } from '../../core/config/settings.ts'
import type { SwapResponse, SwapRouteResponse } from '../../schemas/api/swap.ts'
import { startAnvilStack } from './anvil-stack.ts'
import type { AppStack } from './app-stack.ts'
import type { Anvil, devAccount } from './nodes/anvil.ts'
import { until } from './until.ts'

/** How the interface names the chain's own coin. */
export const COIN: Address = '0x0000000000000000000000000000000000000000'

const ERC20 = parseAbi(['function balanceOf(address) view returns (uint256)'])

/** What is to be swapped. */
export interface WantedSwap {
  readonly dex: string
  readonly sold: Address
  readonly bought: Address
  readonly amount: bigint
  readonly exactIn?: boolean
}

/** The product on a local node, and what somebody does who swaps through it. */
export interface SwapStack {
  readonly product: AppStack
  /** Posts a body; whatever the answer is. */
  post<T>(path: string, body: object): Promise<{ readonly status: number; readonly body: T }>
  /** What the API builds for an account. */
  build(
    wanted: WantedSwap & { readonly owner: string },
    more?: object,
  ): Promise<{
    readonly status: number
    readonly body: SwapRouteResponse & { readonly code?: number }
    readonly args: object
  }>
  /** The same for a swap over one pool. */
  buildOverPool(wanted: {
    readonly owner: string
    readonly dex: string
    readonly pool: Address
    readonly sold: Address
    readonly bought: Address
    readonly amount: bigint | string
    readonly exactIn?: boolean
    readonly slippage?: number
  }): Promise<{ readonly status: number; readonly body: SwapResponse & { readonly code?: number } }>
  /** What an account holds of a token or of the coin. */
  heldBy(owner: Address, token: Address): Promise<bigint>
  /** Signs a transaction and waits until it is mined; what it cost for gas. */
  signAndMine(signer: ReturnType<typeof devAccount>, hex: Hex): Promise<bigint>
  stop(): Promise<void>
}

/** Starts the product as one that follows the node's chain as `ethereum`. */
export const startSwapStack = async (
  { client, wsUrl, httpUrl }: Anvil,
  extra: ChainExtra,
): Promise<SwapStack> => {
  const { product, stop } = await startAnvilStack(
    { client, wsUrl },
    { extra, overrides: { chainRpcUrls: { eth: [httpUrl] } } },
  )
  const post = async <T>(path: string, body: object) => {
    const response = await fetch(`${product.app.baseUrl}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': product.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as T }
  }
  return {
    product,
    post,
    build: async ({ dex, sold, bought, amount, exactIn = true, owner }, more = {}) => {
      const args = {
        dex,
        userAddress: owner,
        amount: amount.toString(),
        inputMint: sold,
        outputMint: bought,
        swapMode: exactIn ? 'ExactIn' : 'ExactOut',
        slippage: 0.5,
        ...more,
      }
      type Answer = SwapRouteResponse & { readonly code?: number }
      return { ...(await post<Answer>('/v1/dex/ethereum/route', args)), args }
    },
    buildOverPool: ({ owner, dex, pool, sold, bought, amount, exactIn = true, slippage = 0.5 }) =>
      post('/v2/dex/ethereum/swap', {
        dex,
        userAddress: owner,
        poolAddress: pool,
        amount: amount.toString(),
        slippage,
        inputMint: sold,
        outputMint: bought,
        swapMode: exactIn ? 'ExactIn' : 'ExactOut',
      }),
    heldBy: (owner, token) =>
      token === COIN
        ? client.getBalance({ address: owner })
        : client.readContract({
            address: token,
            abi: ERC20,
            functionName: 'balanceOf',
            args: [owner],
          }),
    signAndMine: async (signer, hex) => {
      const unsigned = parseTransaction(hex)
      assert.deepEqual([unsigned.r, unsigned.s, unsigned.chainId], [undefined, undefined, 1])
      const signed = await signer.signTransaction(unsigned as never)
      const hash = await client.sendRawTransaction({ serializedTransaction: signed })
      const receipt = await until(() => client.getTransactionReceipt({ hash }), 'a receipt')
      assert.equal(receipt.status, 'success')
      return receipt.gasUsed * receipt.effectiveGasPrice
    },
    stop,
  }
}
