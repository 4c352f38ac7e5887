import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { importLabels } from '../../core/clickhouse/label-store.ts'
import { Fault } from '../../core/errors.ts'
import { runTransferEdges } from '../../processors/rollups/transfer-edges.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { SEARCH_BOUNDS } from '../../schemas/risk.ts'
import type { FoundTransfer } from '../../serving/risk/assessment.ts'
import { type LabelFormat, parseLabels } from '../../serving/risk/label-formats.ts'
import { screen } from '../../serving/risk/screen.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { until } from '../support/until.ts'

/** Addresses of the graph by one letter. */
const at = (letter: string): string => `0x${letter.charCodeAt(0).toString(16).padStart(40, '0')}`
const tx = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`
const TOKEN = at('T')
const START_MS = Date.UTC(2026, 0, 1)
const NOW_MS = Date.UTC(2026, 0, 2)

/** From, to, USD. A: one way of three hops to a sanctioned S. B: direct mixer. C: over an exchange only. */
const MOVES: readonly (readonly [from: string, to: string, usd: number | null])[] = [
  ['Q', 'A', 800],
  ['P', 'A', 200],
  ['R', 'Q', 500],
  ['S', 'R', 1_000],
  ['M', 'B', 60],
  ['N', 'B', 940],
  ['E', 'C', 100],
  ['S', 'E', 100],
  ['S', 'D', 0.5],
  ['N', 'D', 99_999.5],
  ['A', 'Z', null],
]

let api: TestApi
let other: Readonly<Record<string, string>>

const transferRow = ([from, to, usd]: (typeof MOVES)[number], index: number) => ({
  block_time: START_MS + index * 60_000,
  block_slot: 100 + index,
  block_height: 100 + index,
  block_hash: `h${index}`,
  tx_hash: tx(index + 1),
  tx_status: 'SUCCESS',
  event_index: index,
  token_address: TOKEN,
  decimals: 6,
  sender: at(from),
  receiver: at(to),
  amount: '1500000',
  amount_usd: usd === null ? null : String(usd),
  success: 1,
  _ver: 1,
})

const importList = (format: LabelFormat, source: string, text: string, nowMs = START_MS) =>
  importLabels(api.warehouse, { source, format, labels: parseLabels(format, text), nowMs })

const LABELS = `address,category,entity,evidence_url,valid_from,valid_to
${at('S')},sanctions,Listed person,https://example.org/s,2025-01-01,
${at('M')},mixer,A mixer,https://example.org/m,2025-03-21,
${at('M')},sanctions,A mixer,https://example.org/m,2022-08-08,2025-03-21
${at('E')},exchange,An exchange,https://example.org/e,2025-01-01,
`

const assessAddress = async (letter: string, nowMs = NOW_MS, bounds = SEARCH_BOUNDS) => {
  const request = { kind: 'address', address: at(letter), chains: ['eth'] } as const
  const screened = await screen(
    { warehouse: api.warehouse, nowMs: () => nowMs, chains: ['eth'], bounds },
    request,
    [],
  )
  assert.ok(screened.outcome === 'done')
  return screened.result
}

before(async () => {
  api = await startApi({ maxAssessments: 25, chains: ['eth', 'polygon'] })
  await api.warehouse.insert('eth_transfers', MOVES.map(transferRow))
  await api.warehouse.insert('eth_chain_state', [
    { key: 'final', final_slot: 1, final_time: START_MS + 3_600_000, hot_from: 0, seq: 1, _ver: 1 },
  ])
  await runTransferEdges(api.warehouse, 'eth', 1)
  await importList('csv', 'operator', LABELS)
  const made = await api.organizations.createKey({ name: 'another organization', plan: 'selfhost' })
  other = { 'x-api-key': made.apiKey }
})
after(() => api.stop())

const call = (path: string, body?: object, headers?: Readonly<Record<string, string>>) =>
  callApi(api, `/v2${path}`, {
    headers: {
      ...(headers ?? { 'x-api-key': api.apiKey }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })

type Body = Readonly<Record<string, unknown>>
const bodyOf = ({ body }: { readonly body: unknown }): Body => body as Body

const whenComplete = async (path: string): Promise<Body> => {
  let body: Body = {}
  await until(async () => {
    body = bodyOf(await call(path))
    return body.status !== 'PENDING'
  }, `${path} is screened`)
  assert.equal(body.status, 'COMPLETE')
  return body
}

test('transfer sums of a minute are replaced when they are computed again', async () => {
  const sums = async () =>
    (
      await api.warehouse.query({
        sql: 'SELECT side, address, counterparty, usd, transfers FROM eth_transfer_edges FINAL ORDER BY ALL',
      })
    ).rows
  const first = await sums()
  assert.equal(first.length, 2 * (MOVES.length - 1))
  await api.warehouse.insert('eth_chain_state', [
    { key: 'final', final_slot: 2, final_time: START_MS + 3_720_000, hot_from: 0, seq: 2, _ver: 2 },
  ])
  await api.warehouse.insert('eth_transfers', [
    { ...transferRow(['N', 'P', 70], 58), block_time: START_MS + 58 * 60_000 },
  ])
  assert.equal(await runTransferEdges(api.warehouse, 'eth', 2), (START_MS + 59 * 60_000) / 1_000)
  assert.equal((await sums()).length, first.length + 2)
  assert.deepEqual(
    (await sums()).filter((row) =>
      first.some((one) => JSON.stringify(one) === JSON.stringify(row)),
    ),
    first,
  )
})

test('a sanctioned source three hops away scores 12.5, with its way, share and dates', async () => {
  const { exposures, score, level, truncated, reason } = await assessAddress('A')
  const [found] = exposures
  assert.deepEqual([score, level, truncated, exposures.length], [12.5, 'High', false, 1])
  assert.deepEqual(found?.path, ['A', 'Q', 'R', 'S'].map(at))
  assert.deepEqual([found?.hops, found?.share, found?.side, found?.usd], [3, 0.8, 'received', 800])
  assert.deepEqual(found?.lastEdge.firstMs, START_MS + 3 * 60_000)
  assert.match(reason, /^High: sanctions by operator, 3 hops, 80.00 %$/)
})

test('labels apply at the time of screening, and expired ones are listed as former', async () => {
  const today = await assessAddress('M')
  assert.deepEqual(
    [today.level, today.ownLabels.map(({ category }) => category)],
    ['High', ['mixer']],
  )
  assert.deepEqual(
    today.formerLabels.map(({ category, validToMs }) => [category, validToMs]),
    [['sanctions', Date.UTC(2025, 2, 21)]],
  )
  const before2025 = await assessAddress('M', Date.UTC(2025, 2, 20))
  assert.deepEqual(
    [before2025.level, before2025.ownLabels.map(({ category }) => category)],
    ['Severe', ['sanctions']],
  )
})

test('direct exposure counts without a floor; a path ends at a service; an unlabeled address is Low with a stated reason', async () => {
  const direct = await assessAddress('B')
  assert.deepEqual([direct.level, direct.exposures[0]?.share], ['High', 0.06])
  const dust = await assessAddress('D')
  assert.deepEqual([dust.level, dust.exposures[0]?.hops, dust.exposures[0]?.usd], ['High', 1, 0.5])
  const over = await assessAddress('C')
  assert.deepEqual(
    over.exposures.map(({ label, hops }) => [label.category, hops]),
    [['exchange', 1]],
  )
  assert.deepEqual([over.level, over.score], ['Low', 0])
  const unknown = await assessAddress('K')
  assert.deepEqual(
    [unknown.level, unknown.reason],
    ['Low', `no known exposure in labels ${unknown.labelsVersion}`],
  )
})

test('an assessment with a limited fan-out is marked truncated', async () => {
  const narrow = await assessAddress('A', NOW_MS, { ...SEARCH_BOUNDS, fanOut: 1 })
  assert.equal(narrow.truncated, true)
})

test('importing the same label list changes nothing; labels that a list lacks are closed', async () => {
  const list = `address,category\n${at('X')},scam\n${at('Y')},scam\n`
  const first = await importList('csv', 'list', list, NOW_MS)
  assert.deepEqual([first.added, first.closed], [2, 0])
  assert.deepEqual(await importList('csv', 'list', list, NOW_MS + 1), {
    ...first,
    added: 0,
    unchanged: 2,
  })
  const less = await importList('csv', 'list', `address,category\n${at('X')},scam\n`, NOW_MS + 2)
  assert.deepEqual(less, { version: first.version + 1, added: 0, closed: 1, unchanged: 1 })
  const gone = await assessAddress('Y', NOW_MS + 3)
  assert.deepEqual([gone.ownLabels.length, gone.formerLabels.length], [0, 1])
  await assert.rejects(importList('csv', "x' OR 1", list), /a source name has/)
})

test('an address, a transfer and a withdrawal are registered and screened, and their results are returned', async () => {
  assert.deepEqual(
    (await call('/kyt/address', { address: at('A').toUpperCase().replace('0X', '0x') })).body,
    { address: at('A') },
  )
  const risk = await whenComplete(`/kyt/addresses/${at('A')}/risk`)
  assert.deepEqual([risk.risk, risk.riskScore, risk.addressType], ['High', 12.5, 'PRIVATE_WALLET'])
  // Not null for an unknown owner: the reference API's SDK for Rust reads an object only.
  assert.ok(!('cluster' in risk))
  assert.deepEqual(risk.exposures, [
    { category: 'sanctions', direction: 'received', exposureType: 'indirect', value: '800.00' },
  ])
  const asked = {
    network: 'ETHEREUM',
    asset: TOKEN,
    transferReference: `${tx(4)}:${at('R')}`,
    direction: 'received',
  }
  const made = bodyOf(await call('/kyt/transfer', asked))
  const again = bodyOf(await call('/kyt/transfer', { ...asked, network: 'eth' }))
  assert.deepEqual([made.network, made.externalId], ['ethereum', again.externalId])
  const path = `/kyt/transfers/${made.externalId}`
  const done = await whenComplete(`${path}/summary`)
  assert.deepEqual(
    [done.rating, done.riskScore, done.tx, done.assetAmount, done.outputAddress],
    ['SEVERE', 100, tx(4), '1.5', at('R')],
  )
  assert.deepEqual((await call(`${path}/exposures/direct`)).body, {
    status: 'COMPLETE',
    direct: { name: 'Listed person', categoryId: 3 },
  })
  const { alerts } = bodyOf(await call(`${path}/alerts`)) as { alerts: readonly Body[] }
  assert.deepEqual(
    alerts.map(({ alertLevel, categoryId, exposureType }) => [
      alertLevel,
      categoryId,
      exposureType,
    ]),
    [['SEVERE', 3, 'DIRECT']],
  )
  assert.deepEqual((await call(`${path}/network-identifications`)).body, {
    status: 'COMPLETE',
    count: 1,
    networkIdentificationOrgs: [{ name: 'Listed person' }],
  })
})

/** Screens a transfer of `tx(900)` on Polygon. */
const screenAsset = (asset: string, reference: string, chainExtra = {}) =>
  screen(
    { warehouse: api.warehouse, nowMs: () => NOW_MS, chains: ['polygon'], chainExtra },
    {
      ...({ kind: 'transfer', network: 'polygon', chain: 'polygon', direction: 'sent' } as const),
      asset,
      transferReference: reference,
    },
    [],
  )
/** Place of the transfer that was screened, or why there is none. */
const placeOf = async (...asked: Parameters<typeof screenAsset>): Promise<unknown> => {
  const screened = await screenAsset(...asked)
  return screened.outcome === 'done'
    ? screened.result.transfer?.idx
    : 'reason' in screened && screened.reason
}

test('a transfer of the native token is found under its former symbol and each of its addresses', async () => {
  const { nativeAddress, wrappedNative } = CHAINS.polygon
  const row = { ...transferRow(['A', 'B', 5], 0), tx_hash: tx(900) }
  await api.warehouse.insert('polygon_transfers', [
    { ...row, event_index: 0, token_address: TOKEN },
    { ...row, event_index: 1, token_address: wrappedNative },
    { ...row, event_index: 2, token_address: nativeAddress },
    { ...row, event_index: 3, token_address: wrappedNative, receiver: at('C') },
  ])
  for (const asset of ['POL', 'MATIC', '0x0000000000000000000000000000000000001010']) {
    assert.equal(await placeOf(asset, `${tx(900)}:${at('B')}`), 2, asset)
    assert.equal(await placeOf(asset, tx(900)), 2, `${asset}, the only one of its form`)
    assert.equal(await placeOf(asset, `${tx(900)}:${at('C')}`), 3, `${asset}, in wrapped form`)
  }
  for (const asset of ['WMATIC', 'WPOL', wrappedNative.toUpperCase().replace('0X', '0x')]) {
    assert.equal(await placeOf(asset, `${tx(900)}:${at('B')}`), 1, asset)
    assert.equal(await placeOf(asset, tx(900)), 'ambiguous_reference', asset)
  }
  const quote = { kind: 'native', symbol: 'WLOCAL', decimals: 18, address: TOKEN } as const
  const extra = { factories: [], quotes: [quote], referencePools: [], replace: true }
  const reference = `${tx(900)}:${at('B')}`
  assert.equal(await placeOf('WLOCAL', reference, { polygon: extra }), 0)
  assert.equal(await placeOf('WLOCAL', reference), 'asset_mismatch')
})

test('a transfer whose asset or address its transaction does not have ends with the reason', async () => {
  assert.equal(await placeOf('USDC', tx(900)), 'asset_mismatch')
  assert.equal(await placeOf(at('U'), `${tx(900)}:${at('B')}`), 'asset_mismatch')
  assert.equal(await placeOf('POL', `${tx(900)}:${at('X')}`), 'address_mismatch')
  assert.equal(await placeOf('POL', tx(901)), 'tx_not_found')
})

test('a stored transfer is assessed with new labels after its rows are gone, unless a reorg took it back', async () => {
  const { warehouse } = api
  const row = { ...transferRow(['H', 'I', 5_000], 0), block_slot: 500, block_hash: 'h500' }
  const block = { block_time: START_MS, block_slot: 500, block_height: 500, block_hash: 'h500' }
  const old = { ...row, tx_hash: tx(950) }
  const removed = { ...row, tx_hash: tx(951), event_index: 1 }
  const replaced = { ...row, tx_hash: tx(952), block_slot: 501, block_hash: 'h501' }
  await warehouse.insert('eth_transfers', [old, removed, replaced])
  const other = { ...block, block_slot: 501, block_hash: 'h501' }
  await warehouse.insert(
    'eth_blocks',
    [block, other].map((each) => ({ ...each, _ver: 1 })),
  )
  const ask = async (tx_hash: string, stored?: FoundTransfer, asset = TOKEN) => {
    const deps = { warehouse, nowMs: () => NOW_MS, chains: ['eth'] }
    const named = { kind: 'transfer', network: 'ethereum', chain: 'eth', asset } as const
    const request = { ...named, transferReference: tx_hash, direction: 'received' } as const
    const screened = await screen(deps, request, [], { storedTransfer: async () => stored })
    return screened.outcome === 'done' ? screened.result : 'reason' in screened && screened.reason
  }
  const stored = async (tx_hash: string): Promise<FoundTransfer> => {
    const result = await ask(tx_hash)
    assert.ok(typeof result === 'object' && result.transfer !== null)
    assert.equal(result.level, 'Low')
    return result.transfer
  }
  const [aged, gone, moved] = [
    await stored(old.tx_hash),
    await stored(removed.tx_hash),
    await stored(replaced.tx_hash),
  ]
  assert.deepEqual([aged.blockSlot, aged.blockHash], [500, 'h500'])
  await importList('csv', 'later', `address,category\n${at('H')},sanctions\n`)
  const mode = 'SETTINGS mutations_sync = 2'
  await warehouse.command(`ALTER TABLE eth_transfers DELETE WHERE tx_hash = '${tx(950)}' ${mode}`)
  await warehouse.insert('eth_transfers', [
    { ...removed, _ver: 2, _del: 1 },
    // Another transaction at the place of the one that was replaced.
    { ...replaced, tx_hash: tx(953), block_hash: 'h501b', _ver: 3 },
  ])
  await warehouse.insert('eth_blocks', [
    { ...other, _ver: 2, _del: 1 },
    { ...other, block_hash: 'h501b', _ver: 3 },
  ])
  const { blockSlot: _slot, blockHash: _hash, ...ofOlderBuild } = aged
  for (const transfer of [aged, ofOlderBuild]) {
    const result = await ask(old.tx_hash, transfer)
    assert.ok(typeof result === 'object')
    assert.deepEqual([result.level, result.exposures[0]?.usd], ['Severe', 5_000])
    assert.deepEqual(result.transfer, transfer)
  }
  const { blockSlot: _at, blockHash: _of, ...goneOlder } = gone
  for (const [transfer, reason] of [
    [gone, 'tx_not_found'],
    [goneOlder, 'tx_not_found'],
    [moved, 'tx_not_found'],
  ] as const) {
    assert.equal(await ask(transfer.tx, transfer), reason)
  }
  assert.equal(await ask(old.tx_hash), 'tx_not_found', 'it was not assessed before')
  const unnamed = await ask(tx(953), { ...moved, tx: tx(953), blockHash: 'h501b' }, 'RENAMED')
  assert.ok(
    typeof unnamed === 'object',
    'a transfer stays found where its token has another symbol',
  )
  assert.equal(await ask(tx(953), undefined, 'RENAMED'), 'asset_mismatch')
})

test('an asset that is the address of no token of the chain is refused', async () => {
  const transfer = { network: 'eth', transferReference: tx(1), direction: 'sent' }
  for (const asset of [CHAINS.sol.wrappedNative, CHAINS.sui.nativeAddress, `0x${'a'.repeat(39)}`]) {
    assert.equal(bodyOf(await call('/kyt/transfer', { ...transfer, asset })).code, 40009, asset)
    const withdrawal = { ...WITHDRAWAL, address: at('A'), asset }
    assert.equal(bodyOf(await call('/kyt/withdrawal', withdrawal)).code, 40009, asset)
  }
})

test('an address is verified with its chain, as one record with its registration', async () => {
  const ask = (address: string, chain: string, version = '/v1') =>
    callApi(api, `${version}/kya/address/verify`, {
      headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
      method: 'POST',
      body: JSON.stringify({ address, chain }),
    })
  const before = bodyOf(await ask(at('B'), 'Ethereum'))
  assert.deepEqual([before.address, before.status], [at('B'), 'PENDING'])
  assert.deepEqual([before.risk, before.risk_exposures], [null, []])
  const { status } = await whenComplete(`/kyt/addresses/${at('B')}/risk`)
  assert.equal(status, 'COMPLETE')
  for (const version of ['/v1', '/v2']) {
    assert.deepEqual((await ask(at('B'), 'eth', version)).body, {
      address: at('B'),
      risk: 'High',
      status: 'COMPLETE',
      address_type: 'PRIVATE_WALLET',
      risk_exposures: [
        { label: 'mixer', severity: 'High', type: 'direct', amount: '60.00', percentage: 6 },
      ],
    })
  }
  const codes = await Promise.all(
    (
      [
        [at('B'), 'atlantis'],
        ['So11111111111111111111111111111111111111112', 'eth'],
        [at('B'), 'bitcoin'],
        [at('B'), 'polygon'],
      ] as const
    ).map(async ([address, chain]) => bodyOf(await ask(address, chain)).code),
  )
  assert.deepEqual(codes, [40002, 40005, 40024, 50008])
})

const WITHDRAWAL = {
  network: 'eth',
  asset: 'ETH',
  assetAmount: '2.5',
  attemptTimestamp: '2026-01-01T00:00:00Z',
  assetPrice: '2000.5',
}

test('a withdrawal to a look-alike of an earlier target is high', async () => {
  const real = '0xabcd000000000000000000000000000000001234'
  const first = bodyOf(await call('/kyt/withdrawal', { ...WITHDRAWAL, address: real }))
  assert.deepEqual([first.usdAmount, first.usdPriceSource], ['5001.25', 'request'])
  const inEuro = { ...WITHDRAWAL, address: real, assetAmount: '3', assetDenomination: 'EUR' }
  const { usdAmount, usdPriceSource } = bodyOf(await call('/kyt/withdrawal', inEuro))
  assert.deepEqual([usdAmount, usdPriceSource], ['0', null])
  const known = await whenComplete(`/kyt/withdrawal/${first.externalId}/summary`)
  assert.equal(known.rating, 'LOW')
  const fake = bodyOf(
    await call('/kyt/withdrawal', { ...WITHDRAWAL, address: real.replace('0000', '9999') }),
  )
  const path = `/kyt/withdrawal/${fake.externalId}`
  assert.equal((await whenComplete(`${path}/summary`)).rating, 'HIGH')
  const { alerts } = bodyOf(await call(`${path}/alerts`)) as { alerts: readonly Body[] }
  assert.deepEqual(
    alerts.map(({ alertLevel, service }) => [alertLevel, service]),
    [['HIGH', 'address_poisoning']],
  )
  const fraud = bodyOf(await call(`${path}/fraud-assessment`)) as {
    alteryaIdentifications: readonly Body[]
  }
  assert.deepEqual(fraud.alteryaIdentifications[0]?.labels, ['address_poisoning', 'new_address'])
  assert.deepEqual((await call(`${path}/address-identifications`)).body, {
    status: 'COMPLETE',
    chainalysisIdentifications: [],
    customAddresses: [],
  })
})

test('a withdrawal without a price has that of its asset here when it was registered, or says that none is known', async () => {
  const trade = (token: string, priceUsd: number, index: number, timeMs = START_MS) => ({
    block_time: timeMs,
    block_slot: 100 + index,
    block_height: 100 + index,
    block_hash: 'h',
    tx_hash: tx(800 + index),
    event_index: index,
    token_address: token,
    side: 'SELL',
    amount: '1',
    amount_usd: '1',
    amount_native: '1',
    owner: at('O'),
    decimals: 0,
    price_usd: priceUsd,
    is_suspect: 0,
    _ver: 1,
  })
  await api.warehouse.insert('eth_dex_trades_enriched', [
    trade(CHAINS.eth.wrappedNative, 3_000.5, 0),
    trade(CHAINS.eth.wrappedNative, 9_999, 1, Date.now() + 3_600_000),
    trade(TOKEN, 1.5e-7, 2),
  ])
  const value = async (asset: string, fields: object = {}) => {
    const asked = { ...WITHDRAWAL, assetPrice: null, address: at('V'), asset, ...fields }
    const { externalId } = bodyOf(await call('/kyt/withdrawal', asked))
    const done = await whenComplete(`/kyt/withdrawal/${externalId}/summary`)
    return [done.usdAmount, done.usdPriceSource]
  }
  assert.deepEqual(await value('ETH'), ['7501.25', 'market'])
  assert.deepEqual(await value(TOKEN), ['0.000000375', 'market'])
  assert.deepEqual(await value('T', { assetId: TOKEN }), ['0.000000375', 'market'])
  assert.deepEqual(await value(at('U')), ['0', null])
  assert.deepEqual(await value('USDC'), ['0', null])
})

test('a price that takes too long to read leaves the value of a withdrawal unknown, and its target is screened', async () => {
  const warehouse: Pick<Warehouse, 'query'> = {
    query: (statement, options) =>
      statement.sql.includes('dex_trades_enriched')
        ? Promise.reject(new Fault('QUERY_TOO_EXPENSIVE'))
        : api.warehouse.query(statement, options),
  }
  const request = {
    ...WITHDRAWAL,
    kind: 'withdrawal',
    chain: 'eth',
    address: at('M'),
    assetPrice: null,
    assetDenomination: null,
    assetId: null,
    memo: null,
  } as const
  const screened = await screen({ warehouse, nowMs: () => NOW_MS, chains: ['eth'] }, request, [])
  assert.ok(screened.outcome === 'done')
  assert.deepEqual([screened.result.level, screened.result.assetPriceUsd], ['High', null])
})

test('a transfer check of an unknown transaction stays pending', async () => {
  const asked = { network: 'eth', asset: 'ETH', transferReference: tx(999), direction: 'sent' }
  const made = bodyOf(await call('/kyt/transfer', asked))
  assert.deepEqual([made.status, made.rating, made.tx], ['PENDING', null, null])
  const path = `/kyt/transfers/${made.externalId}`
  assert.deepEqual((await call(`${path}/alerts`)).body, { status: 'PENDING', alerts: [] })
  assert.deepEqual((await call(`${path}/exposures/direct`)).body, {
    status: 'PENDING',
    direct: null,
  })
})

test('an organization finds its own records only', async () => {
  const made = bodyOf(await call('/kyt/withdrawal', { ...WITHDRAWAL, address: at('B') }))
  for (const path of [
    `/kyt/withdrawal/${made.externalId}/summary`,
    `/kyt/addresses/${at('A')}/risk`,
  ]) {
    assert.equal((await call(path, undefined, other)).status, 404, path)
  }
  const theirs = bodyOf(await call('/kyt/withdrawal', { ...WITHDRAWAL, address: at('B') }, other))
  assert.notEqual(theirs.externalId, made.externalId)
  assert.equal((await call(`/kyt/transfers/${made.externalId}/summary`)).status, 404)
})

const REFUSED: readonly (readonly [path: string, body: object, code: number])[] = [
  ['/kyt/address', { address: 'nonsense' }, 40005],
  ['/kyt/address', { address: at('A'), more: 1 }, 40001],
  [
    '/kyt/transfer',
    { network: 'bitcoin', asset: 'BTC', transferReference: tx(1), direction: 'sent' },
    40024,
  ],
  [
    '/kyt/transfer',
    { network: '__proto__', asset: 'x', transferReference: tx(1), direction: 'sent' },
    40002,
  ],
  [
    '/kyt/transfer',
    { network: 'solana', asset: 'SOL', transferReference: tx(1), direction: 'sent' },
    50008,
  ],
  [
    '/kyt/transfer',
    { network: 'eth', asset: 'x', transferReference: `${tx(1)}:a:b`, direction: 'sent' },
    40002,
  ],
  ['/kyt/withdrawal', { ...WITHDRAWAL, address: at('A'), assetAmount: '-1' }, 40002],
  ['/kyt/withdrawal', { ...WITHDRAWAL, address: at('A'), attemptTimestamp: 'soon' }, 40031],
]

test('both sides of an assessment share one time budget, statements included', async () => {
  let nowMs = NOW_MS
  const seconds: number[] = []
  const warehouse: Pick<Warehouse, 'query'> = {
    query: (statement, options) => {
      if (options?.budget?.seconds !== undefined) {
        seconds.push(options.budget.seconds)
        if (statement.params?.side !== undefined) nowMs += 5_000
      }
      return api.warehouse.query(statement, options)
    },
  }
  const bounds = { ...SEARCH_BOUNDS, timeMs: 4_000 }
  const request = { kind: 'address', address: at('A'), chains: ['eth'] } as const
  const screened = await screen(
    { warehouse, nowMs: () => nowMs, chains: ['eth'], bounds },
    request,
    [],
  )
  assert.ok(screened.outcome === 'done')
  // Labels and sums of the address had all of the time. The first statement over edges had half of it and took more than all: no more
  // is asked.
  assert.deepEqual(seconds, [4, 4, 4, 2])
  assert.equal(screened.result.truncated, true)
})

test('invalid screening requests are refused with the code of the field', async () => {
  for (const [path, body, code] of REFUSED) {
    assert.equal(bodyOf(await call(path, body)).code, code, JSON.stringify(body))
  }
})

test('registrations of an organization are bounded', async () => {
  const codes: unknown[] = []
  for (let n = 1; n <= 25; n++) {
    codes.push(
      bodyOf(await call('/kyt/address', { address: at(String.fromCharCode(300 + n)) })).code,
    )
  }
  assert.ok(codes.includes(42902))
  assert.equal((await call('/kyt/address', { address: at('A') })).status, 200)
})
