import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChainOp } from '../../ingestors/follow/contract.ts'
import { recordedBlock } from '../../ingestors/recorded/files.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Block, EvmBlock, Log } from '../../schemas/events.ts'
import { type AppStack, startAppStack } from '../support/app-stack.ts'
import { blockRef, createScriptedSource } from '../support/builders/evm-block.ts'
import { buildEventLog, expectedLog } from '../support/builders/evm-event-log.ts'
import { openRawWebSocket, type RawWebSocket } from '../support/raw-websocket.ts'
import { buildSingleTransactionBlock } from '../support/recordings/ethereum.ts'
import { chainRecordingJson } from '../support/recordings/evm-chains.ts'
import { until } from '../support/until.ts'

const NAME = 'polygon/log_polymarket_v2_orderfilled_taker.json'
const TIME_MS = 1_760_000_000_000
const WAIT_MS = 120_000
const CONDITION = `0x${'c0'.repeat(32)}`
const GROUP = `0x${'a7'.repeat(31)}00`
const QUESTION = `0x${'a7'.repeat(31)}01`
const WHO = `0x${'3a'.repeat(20)}`
const TOKENS = '0x4d97dcd97ec945f40cf65f87097ace5ea0476045'
const ADAPTER = '0xd91e80cf2e7be2e162c6513ced06f1dd0da35296'
const USDC = '0x2791bca1f2de4661ed88a30c99a7a9449aa84174'
const ZERO = `0x${'0'.repeat(40)}`

/** The one recorded fill of Polymarket's exchange. */
const recordedFill = (): EvmBlock => {
  const { block } = recordedBlock('polygon', chainRecordingJson(NAME))
  if (block.vm !== 'evm') throw new Error('no EVM block')
  return block
}

const SPLIT =
  'PositionSplit(address indexed stakeholder, address collateralToken, bytes32 indexed parentCollectionId, bytes32 indexed conditionId, uint256[] partition, uint256 amount)'
const BATCH =
  'TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)'

const blockOf = (logs: readonly Omit<Log, 'index'>[], at: Partial<Block>): Block =>
  ({ ...buildSingleTransactionBlock(logs), chain: 'polygon', timeMs: TIME_MS, ...at }) as Block

/** Sets the question of a group up whose first outcome is the token that the recorded fill is of. */
const setUp = (tokenId: bigint, before: EvmBlock): Block =>
  blockOf(
    [
      buildEventLog(
        TOKENS,
        'ConditionPreparation(bytes32 indexed conditionId, address indexed oracle, bytes32 indexed questionId, uint256 outcomeSlotCount)',
        [CONDITION, ADAPTER, QUESTION, 2n],
      ),
      buildEventLog(
        ADAPTER,
        'QuestionPrepared(bytes32 indexed marketId, bytes32 indexed questionId, uint256 index, bytes data)',
        [GROUP, QUESTION, 1n, '0x'],
      ),
      buildEventLog(TOKENS, BATCH, [WHO, ZERO, WHO, [tokenId, 12n], [1_000_000n, 1_000_000n]]),
      buildEventLog(TOKENS, SPLIT, [WHO, USDC, ZERO_HASH, CONDITION, [1n, 2n], 1_000_000n]),
    ],
    { height: before.height - 1, hash: before.parentHash },
  )

const ZERO_HASH = `0x${'0'.repeat(64)}`

type Frame = Readonly<Record<string, unknown>>

const pushesOf = (socket: RawWebSocket, channel: string): readonly Frame[] =>
  socket.frames
    .flatMap((text) => text.split('\n'))
    .map((line) => JSON.parse(line))
    .filter(({ push }) => push?.channel === channel && push.pub !== undefined)
    .map(({ push }) => push.pub.data)

const activity = (frame: Frame | undefined): Frame => (frame?.a ?? {}) as Frame

const openSocket = async (
  { app, apiKey }: AppStack,
  channels: readonly (readonly [channel: string, options?: object])[],
): Promise<RawWebSocket> => {
  const socket = await openRawWebSocket(app.wsUrl)
  socket.send(JSON.stringify({ id: 1, connect: { token: apiKey } }))
  await socket.frame('"id":1')
  for (const [index, [channel, options]] of channels.entries()) {
    socket.send(JSON.stringify({ id: index + 2, subscribe: { channel, ...options } }))
    const reply = await socket.frame(`"id":${index + 2}`)
    assert.ok(!reply.includes('"error"'), reply)
  }
  return socket
}

test('the event of a prediction market sends its trades and settlements, filtered, and takes back what a reorg undid', async () => {
  const source = createScriptedSource()
  const stack = await startAppStack({
    chain: { row: CHAINS.polygon, source },
    overrides: { feeds: ['predictions'] },
  })
  const push = async (seq: number, op: ChainOp): Promise<void> => {
    source.push(op)
    await until(
      async () => stack.app.ingestors[0]?.status().seq === seq && (await stack.app.isCaughtUp()),
      `operation ${seq} is processed`,
      WAIT_MS,
    )
  }
  try {
    const recorded = recordedFill()
    const fill: EvmBlock = {
      ...recorded,
      parentHash: `0x${'9'.repeat(64)}`,
      timeMs: TIME_MS + 2_000,
    }
    const said = expectedLog(NAME) as Readonly<Record<string, string>>
    const [tokenId, maker] = [BigInt(said.tokenId ?? ''), said.maker]
    const first = setUp(tokenId, fill)
    const event = `pred:evt:${GROUP}:act`
    const condition = `pred:evt:${CONDITION.toUpperCase().replace('0X', '0x')}:act`
    const retractions = { data: { retractions: true } }
    const everything = await openSocket(stack, [
      [event, retractions],
      [condition],
      [`pred:tok:${tokenId}:act`],
    ])
    const sales = await openSocket(stack, [[event, { filter: 'meta.a.ty == "sell"' }]])
    const settlements = await openSocket(stack, [[event, { filter: 'type == "inventory_adjust"' }]])
    const slug = await openSocket(stack, [['pred:evt:who-wins:act']])
    await push(1, { op: 'apply', block: first })
    await push(2, { op: 'apply', block: fill })
    const seen = () => pushesOf(everything, event)
    await until(() => seen().length === 2, 'a split and a trade', WAIT_MS)
    const split = seen().find((frame) => activity(frame).ty === 'inventory_adjust')
    const trade = seen().find((frame) => activity(frame).ty !== 'inventory_adjust')
    assert.deepEqual(
      [activity(split).rt, activity(split).w, activity(split).amt, activity(split).es],
      ['Split', WHO, '1', GROUP],
    )
    const a = activity(trade)
    assert.deepEqual(
      [a.tid, a.cp, a.ty, a.cid, a.mid, a.es, a.oc],
      [
        tokenId.toString(),
        maker,
        said.side === 'BUY' ? 'sell' : 'buy',
        CONDITION,
        GROUP,
        GROUP,
        '0',
      ],
    )
    assert.ok(Number(trade?.seq) > Number(split?.seq), 'the sequence grows')
    for (const channel of [condition, `pred:tok:${tokenId}:act`]) {
      await until(() => pushesOf(everything, channel).length === 2, channel, WAIT_MS)
    }
    await push(3, { op: 'revert', ref: blockRef(fill) })
    await until(() => seen().length === 3, 'the retraction', WAIT_MS)
    const undone = seen()[2]
    assert.deepEqual([undone?.op, activity(undone).id], ['revert', a.id])
    assert.equal(pushesOf(everything, condition).length, 2, 'retractions come to those who asked')
    const isSale = activity(trade).ty === 'sell'
    assert.equal(pushesOf(sales, event).length, isSale ? 1 : 0)
    assert.deepEqual(
      pushesOf(settlements, event).map((frame) => activity(frame).ty),
      ['inventory_adjust'],
    )
    assert.deepEqual(pushesOf(slug, 'pred:evt:who-wins:act'), [])
    for (const socket of [everything, sales, settlements, slug]) socket.ws.close()
  } finally {
    await stack.stop()
  }
})
