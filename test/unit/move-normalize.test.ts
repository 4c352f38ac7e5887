import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58Decode } from '../../core/base58.ts'
import { InvalidInput } from '../../core/errors.ts'
import {
  normalizeCheckpoint,
  normalizeTransaction,
} from '../../ingestors/move/normalize/checkpoint.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import {
  buildMoveBlock,
  objectIdFor,
  protocolPackage,
  SUI,
  TEST_COIN,
  USDC,
} from '../support/builders/move-block.ts'
import { parseSuiRecording, suiDecodeContext, suiRecordingJson } from '../support/recordings/sui.ts'

type Json = Record<string, unknown>

const digest = (sign: string): string => sign.repeat(44)
const POOL = objectIdFor('pool')
const ANNA = objectIdFor('sender')

const SWAP_FIELDS = { atob: true, pool: POOL, amount_in: '100', amount_out: '40' }

/** A transaction as `sui.rpc.v2` tells it, in the proto3 JSON mapping. */
const GRPC = {
  digest: digest('A'),
  transaction: {
    sender: ANNA,
    gasPayment: { owner: objectIdFor('sponsor'), price: '1000', budget: '9' },
    kind: {
      kind: 'PROGRAMMABLE_TRANSACTION',
      programmableTransaction: {
        inputs: [
          { kind: 'PURE', pure: 'AA==' },
          { kind: 'SHARED', objectId: POOL },
        ],
        commands: [
          { splitCoins: { coin: { kind: 'GAS' } } },
          {
            moveCall: {
              package: objectIdFor('router'),
              module: 'router',
              function: 'swap',
              typeArguments: [SUI, USDC],
              arguments: [
                { kind: 'INPUT', input: 1 },
                { kind: 'RESULT', result: 1 },
              ],
            },
          },
        ],
      },
    },
  },
  effects: {
    status: { success: true },
    gasUsed: { computationCost: '750000', storageCost: '2000', storageRebate: '1000' },
    changedObjects: [
      {
        objectId: POOL,
        inputState: 'INPUT_OBJECT_STATE_EXISTS',
        outputState: 'OUTPUT_OBJECT_STATE_OBJECT_WRITE',
        idOperation: 'NONE',
        objectType: `${protocolPackage('cetus')}::pool::Pool<${SUI}, ${USDC}>`,
      },
      {
        objectId: objectIdFor('coin'),
        inputState: 'INPUT_OBJECT_STATE_DOES_NOT_EXIST',
        outputState: 'OUTPUT_OBJECT_STATE_PACKAGE_WRITE',
        idOperation: 'CREATED',
        objectType: 'package',
      },
      {
        objectId: objectIdFor('metadata'),
        outputState: 'OUTPUT_OBJECT_STATE_OBJECT_WRITE',
        idOperation: 'CREATED',
      },
      { objectId: objectIdFor('gone'), outputState: 'OUTPUT_OBJECT_STATE_DOES_NOT_EXIST' },
    ],
  },
  events: {
    events: [
      {
        packageId: objectIdFor('router'),
        module: 'router',
        sender: ANNA,
        eventType: `${protocolPackage('cetus')}::pool::SwapEvent`,
        json: SWAP_FIELDS,
      },
      {
        eventType: `${objectIdFor('other')}::m::E<${SUI}>`,
        contents: { name: 'E', value: 'AQID' },
      },
    ],
  },
  balanceChanges: [{ address: ANNA, coinType: SUI, amount: '-100' }],
}

const CHECKPOINT = {
  sequenceNumber: '12',
  digest: digest('C'),
  summary: { previousDigest: digest('B'), timestamp: '2026-07-09T01:02:03.456789Z' },
  transactions: [GRPC, { ...GRPC, digest: digest('D'), effects: { status: { success: false } } }],
  objects: {
    objects: [
      {
        objectId: objectIdFor('metadata'),
        objectType: `0x2::coin::CoinMetadata<${TEST_COIN}>`,
        json: { decimals: 6, name: 'Coin', symbol: 'COIN' },
      },
    ],
  },
}

test('a gRPC checkpoint has header, sponsor, fee, events of both forms, calls and objects', () => {
  const block = normalizeCheckpoint(CHECKPOINT, 'sui')
  const { transactions, ...header } = block
  assert.deepEqual(header, {
    vm: 'move',
    chain: 'sui',
    height: 12,
    hash: digest('C'),
    parentHash: digest('B'),
    timeMs: Date.UTC(2026, 6, 9, 1, 2, 3, 456),
  })
  const [first, failed] = transactions
  assert.ok(first && failed)
  assert.deepEqual(
    [first.hash, first.index, first.from, first.gasOwner, first.feeRaw, first.success],
    [digest('A'), 0, ANNA, objectIdFor('sponsor'), 751_000n, true],
  )
  assert.deepEqual(first.events, [
    {
      index: 0,
      package: protocolPackage('cetus'),
      name: 'pool::SwapEvent',
      typeArguments: [],
      sender: ANNA,
      fields: SWAP_FIELDS,
      bytes: null,
    },
    {
      index: 1,
      package: objectIdFor('other'),
      name: 'm::E',
      typeArguments: [SUI],
      sender: '',
      fields: null,
      bytes: Buffer.from([1, 2, 3]),
    },
  ])
  assert.deepEqual(first.calls, [{ typeArguments: [SUI, USDC], objects: [POOL] }])
  assert.deepEqual(first.deltas, [{ owner: ANNA, coin: SUI, deltaRaw: -100n }])
  assert.deepEqual(
    first.objects.map(({ id: name, change }) => [name, change]),
    [
      [POOL, 'changed'],
      [objectIdFor('coin'), 'published'],
      [objectIdFor('metadata'), 'created'],
    ],
  )
  assert.deepEqual(
    [failed.success, failed.events, failed.calls, failed.objects],
    [false, [], [], []],
  )
  const { swaps, tokenCreations } = decodeBlock(block, suiDecodeContext([], 'facts'))
  assert.deepEqual([swaps.length, swaps[0]?.tokenIn, swaps[0]?.tokenOut], [1, SUI, USDC])
  assert.deepEqual(
    tokenCreations.map(({ metadata: fact }) => [fact.address, fact.decimals, fact.symbol]),
    [[TEST_COIN, 6, 'COIN']],
  )
})

test('enums as numbers and oneof as an object decode the same', () => {
  const { transaction, effects } = GRPC
  const { programmableTransaction } = transaction.kind
  const [, call] = programmableTransaction.commands
  const other = {
    ...GRPC,
    transaction: {
      ...transaction,
      kind: {
        data: {
          oneofKind: 'programmableTransaction',
          programmableTransaction: {
            ...programmableTransaction,
            commands: [
              {
                command: {
                  oneofKind: 'moveCall',
                  moveCall: {
                    ...call?.moveCall,
                    arguments: [
                      { kind: 2, input: 1 },
                      { kind: 3, result: 1 },
                    ],
                  },
                },
              },
            ],
          },
        },
      },
    },
  }
  const states: Readonly<Record<string, number>> = {
    OUTPUT_OBJECT_STATE_DOES_NOT_EXIST: 1,
    OUTPUT_OBJECT_STATE_OBJECT_WRITE: 2,
    OUTPUT_OBJECT_STATE_PACKAGE_WRITE: 3,
  }
  const numbered = {
    ...other,
    effects: {
      ...effects,
      changedObjects: effects.changedObjects.map((object) => ({
        ...object,
        outputState: states[object.outputState],
        idOperation: object.idOperation === 'CREATED' ? 2 : 1,
      })),
    },
  }
  assert.deepEqual(
    normalizeTransaction(numbered, { index: 0 }),
    normalizeTransaction(GRPC, { index: 0 }),
  )
  const text = { kind: { oneofKind: 'stringValue', stringValue: '7' } }
  const list = { kind: { oneofKind: 'listValue', listValue: { values: [text] } } }
  const printed = { oneofKind: 'structValue', structValue: { fields: { text, list } } }
  for (const json of [{ kind: printed }, { structValue: printed.structValue }]) {
    const events = GRPC.events.events.map((each) => ({ ...each, contents: undefined, json }))
    const { events: read } = normalizeTransaction({ ...GRPC, events: { events } }, { index: 0 })
    assert.deepEqual(read[0]?.fields, { text: '7', list: ['7'] })
  }
  const seconds = { seconds: '1752022923', nanos: 456_000_000 }
  const { timeMs } = normalizeCheckpoint(
    { ...CHECKPOINT, summary: { previousDigest: digest('B'), timestamp: seconds } },
    'sui',
  )
  assert.equal(timeMs, 1_752_022_923_456)
})

test('a recorded JSON-RPC response decodes the same from event bytes and from event fields', () => {
  const json = suiRecordingJson('turbos_swap.json')
  const { block, timed } = parseSuiRecording(json)
  assert.deepEqual([block.height, block.timeMs, timed], [29_829_815, 1_711_502_991_480, true])
  const [tx] = block.transactions
  assert.ok(tx)
  assert.equal(tx.feeRaw, 41_606_000n + 12_129_600n - 10_699_128n)
  assert.deepEqual(tx.calls[0]?.objects.slice(0, 1), [
    '0x5eb2dfcdd1b15d2021328258f6d5ec081e9a0cdcfa9e13a0eaeb9b5f7505ca78',
  ])
  const { events } = json.result as { readonly events: readonly Json[] }
  const bytes = events.map((event) => ({ ...event, parsedJson: undefined }))
  const again = parseSuiRecording({ result: { ...(json.result as Json), events: bytes } }).block
  assert.deepEqual(again.transactions[0]?.events[0]?.fields, null)
  const named = decodeBlock(block, suiDecodeContext())
  assert.equal(named.swaps.length, 1)
  assert.equal(named.swaps[0]?.liquidityRaw, 1_376_226_459_233_276n)
  assert.deepEqual(decodeBlock(again, suiDecodeContext()), named)
  const base64 = Buffer.from(base58Decode(String(events[0]?.bcs)) ?? []).toString('base64')
  const newer = bytes.map((event) => ({ ...event, bcs: base64, bcsEncoding: 'base64' }))
  const third = parseSuiRecording({ result: { ...(json.result as Json), events: newer } }).block
  assert.deepEqual(decodeBlock(third, suiDecodeContext()), named)
})

test('without its objects the recorded call still names the coins of the pool', () => {
  const { result } = suiRecordingJson('turbos_swap.json') as { readonly result: Json }
  const { block } = parseSuiRecording({ ...result, objectChanges: undefined })
  const { swaps, pools } = decodeBlock(block, suiDecodeContext())
  assert.deepEqual([swaps[0]?.tokenIn, pools], [SUI, []])
  assert.match(String(swaps[0]?.tokenOut), /::coin::COIN$/)
})

test('a JSON-RPC response has owners, failed transactions and published packages', () => {
  const { result } = suiRecordingJson('turbos_swap.json') as { readonly result: Json }
  const balanceChanges = [
    { owner: { AddressOwner: ANNA }, coinType: `${objectIdFor('coin')}::coin::COIN`, amount: '-7' },
    { owner: { ObjectOwner: POOL }, coinType: '0x2::sui::SUI', amount: '7' },
    { owner: { Shared: { initial_shared_version: 1 } }, coinType: '0x2::sui::SUI', amount: '7' },
    { owner: 'Immutable', coinType: '0x2::sui::SUI', amount: '7' },
  ]
  const objectChanges = [
    { type: 'published', packageId: '0x5', version: '1', digest: 'd', modules: [] },
    { type: 'deleted', objectId: '0x6', objectType: '0x2::coin::Coin<u8>' },
  ]
  const [tx] = parseSuiRecording({ ...result, balanceChanges, objectChanges }).block.transactions
  assert.deepEqual(tx?.deltas, [
    { owner: ANNA, coin: TEST_COIN, deltaRaw: -7n },
    { owner: POOL, coin: SUI, deltaRaw: 7n },
  ])
  assert.deepEqual(
    tx?.objects.map(({ id: name, change }) => [name, change]),
    [[`0x${'5'.padStart(64, '0')}`, 'published']],
  )
  const effects = { ...(result.effects as Json), status: { status: 'failure', error: 'x' } }
  const [failed] = parseSuiRecording({ ...result, effects }).block.transactions
  assert.deepEqual(
    [failed?.success, failed?.events.length, failed?.feeRaw],
    [false, 0, 43_036_472n],
  )
})

test('a JSON-RPC checkpoint with embedded transactions is a whole block', () => {
  const { result } = suiRecordingJson('turbos_swap.json') as { readonly result: Json }
  const said = {
    sequenceNumber: '29829815',
    digest: digest('C'),
    previousDigest: digest('B'),
    timestampMs: '1711502991480',
    transactions: [result],
  }
  const { block, whole, named } = parseSuiRecording({ sui_getCheckpoint: said })
  assert.deepEqual(
    [block.height, block.parentHash, whole, named],
    [29_829_815, digest('B'), true, true],
  )
  assert.equal(block.transactions.length, 1)
  const first = normalizeCheckpoint({ ...said, sequenceNumber: 0, previousDigest: null }, 'sui')
  assert.equal(first.parentHash, '1'.repeat(32))
})

test('a list of JSON-RPC responses is a part of a checkpoint; events alone are grouped by digest', () => {
  const { result } = suiRecordingJson('turbos_swap.json') as { readonly result: Json }
  const two = [result, { ...result, digest: digest('E') }]
  const list = parseSuiRecording({ jsonrpc: '2.0', result: two }).block
  assert.deepEqual(
    list.transactions.map(({ index }) => index),
    [0, 1],
  )
  const event = (result.events as readonly Json[])[0] ?? {}
  const at = (txDigest: string, eventSeq: string): Json => ({
    ...event,
    id: { txDigest, eventSeq },
    timestampMs: '5',
  })
  const data = [at(digest('E'), '3'), at(digest('E'), '1'), at(digest('F'), '0')]
  const { block, timed } = parseSuiRecording({ suix_queryEvents: { data, hasNextPage: false } })
  assert.deepEqual(
    block.transactions.map(({ hash, events }) => [hash, events.map(({ index }) => index)]),
    [
      [digest('E'), [1, 3]],
      [digest('F'), [0]],
    ],
  )
  assert.deepEqual([block.timeMs, timed, block.transactions[0]?.from], [5, true, event.sender])
  assert.equal(parseSuiRecording({ ...event }).block.transactions[0]?.events.length, 1)
  assert.deepEqual(parseSuiRecording({ jsonrpc: '2.0', result: data }).block, block)
})

test('a page of transactions decodes like a list of them', () => {
  const { result } = suiRecordingJson('turbos_swap.json') as { readonly result: Json }
  const page = { jsonrpc: '2.0', result: { data: [result], hasNextPage: false } }
  assert.deepEqual(parseSuiRecording(page), parseSuiRecording({ result }))
  const { digest: name, checkpoint, events } = result
  const { block } = parseSuiRecording({ result: { data: [{ digest: name, checkpoint, events }] } })
  assert.deepEqual([block.transactions[0]?.hash, block.height], [name, Number(checkpoint)])
  assert.equal(decodeBlock(block, suiDecodeContext()).swaps.length, 1)
})

test('recordings without effects are decoded, short addresses included', () => {
  const { block, whole, timed } = parseSuiRecording(suiRecordingJson('sentio_sui-template.json'))
  assert.deepEqual([block.height, whole, timed], [233_041, false, false])
  const [staked] = block.transactions[0]?.events ?? []
  assert.deepEqual(
    [staked?.package, staked?.name],
    [`0x${'3'.padStart(64, '0')}`, 'validator::StakingRequestEvent'],
  )
  const routed = parseSuiRecording(suiRecordingJson('sentio_entry-function.json')).block
    .transactions[0]
  assert.deepEqual(routed?.events[0]?.typeArguments, [
    SUI,
    '0x700de8dea1aac1de7531e9d20fc2568b12d74369f91b7fad3abc1c4f40396e52::bnb::BNB',
  ])
  assert.deepEqual(routed?.calls[0]?.objects, [
    '0x33dad3c4a8ec662326d69d94151ab157e26e621830cce125e97965a0111c37c4',
  ])
  const leading = parseSuiRecording(suiRecordingJson('sentio_leadingzero.json')).block
    .transactions[0]
  assert.match(String(leading?.events[0]?.package), /^0x00b53b0f/)
})

test('responses without transaction and effects are completed from their events', () => {
  const { result } = suiRecordingJson('turbos_swap.json') as { readonly result: Json }
  const less = { ...result, transaction: undefined, effects: undefined }
  const { swaps } = decodeBlock(parseSuiRecording(less).block, suiDecodeContext())
  assert.deepEqual([swaps.length, swaps[0]?.tokenIn], [1, SUI])
  assert.match(String(swaps[0]?.trader), /^0x72f31c56/)
  const grpc = parseSuiRecording({ ...GRPC, transaction: undefined }).block.transactions[0]
  assert.deepEqual([grpc?.from, grpc?.events.length, grpc?.feeRaw], [ANNA, 2, 751_000n])
})

test('Move types beyond the bounds are skipped, and the rest of their transaction is kept', () => {
  const deep = `${objectIdFor('hostile')}::a::B<${'0x1::a::B<'.repeat(12)}u8${'>'.repeat(12)}>`
  const long = `${objectIdFor('hostile')}::a::B<${'u8, '.repeat(5_000)}u8>`
  for (const type of [deep, long]) {
    const [tx] = normalizeCheckpoint(
      {
        ...CHECKPOINT,
        transactions: [
          {
            ...GRPC,
            events: { events: [{ eventType: type }, ...GRPC.events.events] },
            balanceChanges: [
              { address: ANNA, coinType: type, amount: '1' },
              ...GRPC.balanceChanges,
            ],
            effects: {
              ...GRPC.effects,
              changedObjects: [
                { objectId: objectIdFor('odd'), outputState: 2, objectType: type },
                ...GRPC.effects.changedObjects,
              ],
            },
          },
        ],
      },
      'sui',
    ).transactions
    assert.deepEqual(
      tx?.events.map(({ name, typeArguments }) => [name, typeArguments.length]),
      [
        ['a::B', 0],
        ['pool::SwapEvent', 0],
        ['m::E', 1],
      ],
    )
    assert.deepEqual(
      tx?.deltas.map(({ coin }) => coin),
      [SUI],
    )
    assert.equal(decodeBlock(buildMoveBlock(tx ? [tx] : []), suiDecodeContext()).swaps.length, 1)
  }
})

const refuses = (read: () => unknown, reason: string): void => {
  assert.throws(
    read,
    (error: unknown) => error instanceof InvalidInput && error.reason === reason,
    reason,
  )
}

test('an invalid Sui transaction is rejected with its reason', () => {
  const one = (change: Json) => () => normalizeTransaction({ ...GRPC, ...change }, { index: 0 })
  one({})()
  refuses(one({ effects: null }), 'no-effects')
  refuses(one({ transaction: 7 }), 'not-an-object')
  refuses(one({ transaction: { sender: 'anna' } }), 'bad-address')
  refuses(one({ digest: '0OIl' }), 'bad-base58')
  refuses(one({ events: { events: 7 } }), 'not-a-list')
  refuses(one({ events: { events: [{ eventType: 'x' }] } }), 'bad-type')
  refuses(one({ balanceChanges: [{ address: ANNA, coinType: 'x', amount: '1' }] }), 'bad-type')
  const amount = { address: ANNA, coinType: SUI, amount: 1 }
  refuses(one({ balanceChanges: [amount] }), 'bad-amount')
  refuses(one({ effects: { ...GRPC.effects, gasUsed: { computationCost: '-1' } } }), 'bad-amount')
  const contents = { eventType: '0x2::a::B', contents: { value: '?' } }
  refuses(one({ events: { events: [contents] } }), 'bad-base64')
  const named = { objectId: POOL, outputState: 2, objectType: 7 }
  refuses(one({ effects: { ...GRPC.effects, changedObjects: [named] } }), 'not-a-text')
})

test('invalid checkpoints and JSON-RPC responses are rejected with their reason', () => {
  const block = (change: Json) => () => normalizeCheckpoint({ ...CHECKPOINT, ...change }, 'sui')
  refuses(block({ sequenceNumber: '-1' }), 'bad-number')
  refuses(block({ transactions: ['digest'] }), 'no-transactions')
  refuses(block({ summary: { timestamp: 'noon' } }), 'bad-time')
  refuses(block({ summary: { timestamp: { seconds: 'x' } } }), 'bad-number')
  const { result } = suiRecordingJson('turbos_swap.json') as { readonly result: Json }
  const status = { ...(result.effects as Json), status: { status: 'maybe' } }
  refuses(() => parseSuiRecording({ ...result, effects: status }), 'bad-status')
  const events = (result.events as readonly Json[])[0] ?? {}
  refuses(() => parseSuiRecording({ ...result, events: [events, events] }), 'event-order')
  const two = [result, { ...result, checkpoint: '1' }]
  refuses(() => parseSuiRecording({ result: two }), 'mixed-checkpoints')
  refuses(() => parseSuiRecording({ what: 1 }), 'unknown-shape')
  const nested = { result: { result: { result: { result } } } }
  refuses(() => parseSuiRecording(nested), 'unknown-shape')
  refuses(() => recordedBlock('sui', { chain: 'eth' }), 'wrong-chain')
})
