import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFiles } from '../../cli/commands/decode.ts'
import { CHAINS } from '../../schemas/chains.ts'
import {
  solanaExpectations,
  solanaRecordingNames,
  solanaRecordingPath,
} from '../support/recordings/solana.ts'

interface Line {
  readonly trades: readonly (Record<string, unknown> & { readonly at: string })[]
  readonly transfers: readonly { at: string; token: string; amount: string }[]
  readonly nativeTransfers: readonly { at: string; value: string }[]
  readonly tokensCreated: readonly Record<string, unknown>[]
  readonly tokensMigrated: readonly Record<string, unknown>[]
}

const explained = async (name: string): Promise<Line> => {
  const lines: Line[] = []
  const write = (line: string) => lines.push(JSON.parse(line))
  assert.equal(await decodeFiles({ chain: 'sol', files: [solanaRecordingPath(name)], write }), 0)
  const [line] = lines
  assert.ok(line)
  return line
}

const PROTOCOL: Readonly<Record<string, string>> = {
  pumpfun: 'pump_fun',
  pumpswap: 'pumpswap',
  raydium_amm_v4: 'raydium_amm_v4',
  meteora_dlmm: 'meteora_dlmm',
  meteora_damm_v1: 'meteora_damm_v1',
  meteora_damm_v2: 'meteora_damm_v2',
  meteora_dbc: 'meteora_dbc',
  moonshot: 'moonshot',
  raydium_cpmm: 'raydium_cpmm',
  raydium_clmm: 'raydium_clmm',
  raydium_launchlab: 'raydium_launchlab',
  orca_whirlpool: 'orca_whirlpool',
}

const nameOf = (token: string): string => (token === CHAINS.sol.nativeAddress ? 'SOL' : token)

for (const name of solanaRecordingNames()) {
  test(`${name} holds the recorded trades, launches and transfers and no other`, async () => {
    const expected = solanaExpectations()[name]
    assert.ok(expected)
    const line = await explained(name)
    assert.deepEqual(
      line.trades.map(({ at, pool, ...trade }) => ({ ...trade, path: at, pool })),
      expected.trades.map(({ protocol, ...trade }, index) => ({
        txHash: line.trades[index]?.txHash,
        pool: line.trades[index]?.pool,
        ...trade,
        protocol: PROTOCOL[protocol],
      })),
    )
    assert.deepEqual(
      line.tokensCreated,
      expected.created.map(({ mint, user, name: called, symbol }) => ({
        token: mint,
        creator: user,
        name: called,
        symbol,
        launchpad: 'pump_fun',
      })),
    )
    assert.deepEqual(
      line.tokensMigrated,
      expected.migrated.map(({ mint, pool }) => ({ token: mint, pool })),
    )
    if (expected.transfers === undefined) return
    const found = [
      ...line.transfers.map(({ at, token, amount }) => [at, nameOf(token), amount]),
      ...line.nativeTransfers.map(({ at, value }) => [at, 'SOL', value]),
    ]
    assert.deepEqual(found.map(String).sort(), expected.transfers.map(String).sort())
  })
}

test('a failed transaction gives no trade, no transfer and no token', async () => {
  const line = await explained('swap_meteora_dlmm_1.json')
  for (const list of [line.trades, line.transfers, line.nativeTransfers, line.tokensCreated]) {
    assert.deepEqual(list, [])
  }
})
