import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyDecodedBlock } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { resolveSwaps, type Waiting } from '../../ingestors/evm/decode/resolve-swaps.ts'
import {
  buildEvmBlock,
  buildPoolMetadata,
  TOKEN,
  TOKEN_POOL,
  WETH,
} from '../support/builders/evm-block.ts'

const VAULT = '0x000000000004444c5dc75cb358380d2e3de08a90'
const fact = {
  ...buildPoolMetadata(TOKEN_POOL, TOKEN, WETH),
  protocol: 'uniswap_v4',
  factory: VAULT,
}

const swap = { kind: 'swap', tokenIn: 0, tokenOut: 1, amountInRaw: 1n, amountOutRaw: 2n } as const
const change = { kind: 'change', change: 'increase', amountsRaw: [1n, 2n] } as const

const waiting = (said: typeof swap | typeof change, vault: string | undefined): Waiting => ({
  family: 'uniswap_v4',
  logIndex: 1,
  reserves: undefined,
  holder: undefined,
  decoded: {
    ...said,
    pool: TOKEN_POOL,
    defaultProtocol: 'uniswap_v4',
    ...(vault !== undefined && { vault }),
  },
})

test('swaps and liquidity changes have the vault of their pool, where it is not the pool', () => {
  const { transactions } = buildEvmBlock({ height: 1 }, [
    {
      pool: TOKEN_POOL,
      tokenIn: TOKEN,
      tokenOut: WETH,
      amountInRaw: 1n,
      amountOutRaw: 1n,
      reservesRaw: [1n, 1n],
    },
  ])
  const [tx] = transactions
  assert.ok(tx)
  const out = emptyDecodedBlock()
  const protocols = protocolRegistry('eth')
  resolveSwaps(
    {
      tx,
      out,
      context: { verification: 'facts', protocols, pool: () => fact },
      protocols,
      made: new Map(),
      prices: new Map(),
    },
    {
      waiting: [VAULT, undefined].flatMap((vault) => [
        waiting(swap, vault),
        waiting(change, vault),
      ]),
      operations: [],
      firstTransfer: 0,
    },
  )
  assert.deepEqual(out.dropped, [])
  assert.deepEqual(
    [out.swaps, out.poolChanges].map((list) => list.map((event) => event.vault)),
    [
      [VAULT, undefined],
      [VAULT, undefined],
    ],
  )
})
