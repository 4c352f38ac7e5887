import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Principal } from '../../serving/interfaces.ts'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import {
  openRawWebSocket,
  type RawWebSocket,
  readRefusedUpgrade,
} from '../support/raw-websocket.ts'
import {
  buildTradeEvent,
  type RealtimeStack,
  startRealtimeStack,
  TOKEN,
} from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'

const TRADES = `dex-trade:eth_${TOKEN}`
const KEPT = 300
const REPLY_BYTES = 512 * 1_024
/** Thousandths of a unit per payload byte. */
const MILLI_UNITS_PER_BYTE = 5

let stack: RealtimeStack
let server: RealtimeServer
before(async () => {
  stack = await startRealtimeStack()
  const long = '長'.repeat(250)
  await stack.commit([{ token: { address: TOKEN, name: long, symbol: long } }])
  server = await stack.serve()
  const reader = await (await account('selfhost')).connected()
  reader.raw.send(`{"subscribe":{"channel":"${TRADES}"},"id":2}`)
  await reader.raw.frame('"id":2')
  await stack.commit([{ trades: Array.from({ length: KEPT }, (_, at) => buildTradeEvent(at)) }])
  await until(() => reader.raw.frames.filter((text) => text.includes('"push"')).length === KEPT)
  reader.raw.ws.close()
  await reader.raw.closed()
})
after(() => stack.close())

const account = async (plan: 'free' | 'selfhost') => {
  const { apiKey } = await stack.organizations.createKey({ name: `billed-${plan}`, plan })
  const principal = stack.organizations.guard.authenticate({ apiKey })
  assert.ok(principal !== undefined && !(principal instanceof Error))
  const url = `ws://127.0.0.1:${server.port}/connection/websocket?token=${apiKey}`
  const connected = async () => {
    const raw = await openRawWebSocket(url)
    raw.send('{"connect":{},"id":1}')
    await raw.frame('"connect"')
    return { raw, history: history(raw) }
  }
  return { principal, url, connected }
}
interface Reply {
  readonly error?: { readonly code: number; readonly temporary?: boolean }
  readonly history?: {
    readonly publications: readonly { readonly data: unknown; readonly offset: number }[]
    readonly epoch: string
    readonly offset: number
  }
}
const history = (raw: RawWebSocket) => {
  let id = 100
  return async (wish: object): Promise<Reply> => {
    id += 1
    const from = raw.frames.length
    raw.send(JSON.stringify({ history: { channel: TRADES, ...wish }, id }))
    return JSON.parse(await raw.frame(`{"id":${id},`, from))
  }
}
const bytesOf = ({ history: found }: Reply): number =>
  (found?.publications ?? []).reduce(
    (sum, { data }) => sum + Buffer.byteLength(JSON.stringify(data)),
    0,
  )
const usedMilli = (principal: Principal): number =>
  Math.round(stack.meter.quota(principal).used * 1_000)
/** Leaves so many units of the month. */
const spendAllBut = (principal: Principal, units: number): void => {
  const milli = Math.round(((stack.meter.quota(principal).remaining ?? 0) - units) * 1_000)
  stack.meter.reserve(principal, milli).settle(milli)
}

test('channel history is charged by its payload bytes at once; reading only the top position costs nothing', async () => {
  const { principal, connected } = await account('selfhost')
  const { history: ask } = await connected()
  assert.deepEqual((await ask({ limit: 0 })).history?.publications, [])
  assert.equal(usedMilli(principal), 0)
  const newest = await ask({ limit: 3, reverse: true })
  assert.equal(newest.history?.publications.length, 3)
  await until(() => usedMilli(principal) === bytesOf(newest) * MILLI_UNITS_PER_BYTE, 'the charge')
})

test('channel recovery is charged by its payload bytes at once', async () => {
  const { principal, connected } = await account('selfhost')
  const { raw, history: ask } = await connected()
  const top = (await ask({ limit: 0 })).history
  const newest = (await ask({ limit: 3, reverse: true })).history?.publications ?? []
  await until(() => usedMilli(principal) > 0)
  const before = usedMilli(principal)
  const since = { recover: true, epoch: top?.epoch, offset: newest.at(-1)?.offset }
  raw.send(JSON.stringify({ subscribe: { channel: TRADES, ...since }, id: 2 }))
  const { subscribe } = JSON.parse(await raw.frame('{"id":2,'))
  assert.equal(subscribe.publications.length, 2)
  const bytes = bytesOf({ history: subscribe })
  await until(() => usedMilli(principal) === before + bytes * MILLI_UNITS_PER_BYTE, 'the charge')
})

test('a history reply holds at most 512 KiB, and the next one continues where it ended', async () => {
  const { connected } = await account('selfhost')
  const { history: ask } = await connected()
  const oldest = (await ask({ limit: 1 })).history
  const offsets = [oldest?.publications[0]?.offset ?? 0]
  const pages: number[] = []
  while (offsets.length < KEPT) {
    const since = { epoch: oldest?.epoch, offset: offsets.at(-1) }
    const page = await ask({ limit: -1, since })
    assert.ok(page.history, JSON.stringify(page))
    assert.ok(bytesOf(page) <= REPLY_BYTES, `${bytesOf(page)} bytes`)
    assert.ok(page.history.publications.length > 0)
    pages.push(page.history.publications.length)
    offsets.push(...page.history.publications.map(({ offset }) => offset))
  }
  assert.ok(pages.length > 1, 'the publications fit into one reply: nothing was cut')
  assert.deepEqual(
    offsets,
    [...new Set(offsets)].toSorted((a, b) => a - b),
  )
})

test('history and recovery reads beyond the byte budget answer 111 until time has passed', async () => {
  const { connected } = await account('selfhost')
  const { raw, history: ask } = await connected()
  const whole = { limit: -1 }
  const answers: Reply[] = []
  while (answers.at(-1)?.error === undefined && answers.length < 20) answers.push(await ask(whole))
  const bytes = answers.reduce((sum, one) => sum + bytesOf(one), 0)
  assert.deepEqual(answers.at(-1)?.error, {
    code: 111,
    message: 'too many requests',
    temporary: true,
  })
  assert.ok(bytes <= 4 * REPLY_BYTES, `${bytes} bytes were read`)
  const since = { recover: true, epoch: answers[0]?.history?.epoch, offset: 1 }
  raw.send(JSON.stringify({ subscribe: { channel: TRADES, ...since }, id: 2 }))
  assert.match(await raw.frame('{"id":2,'), /"code":111/)
  assert.equal((await ask({ limit: 0 })).error, undefined)
  stack.advance(20_000)
  assert.ok((await ask(whole)).history)
})

test('history beyond the quota: what was delivered is charged, and the connection closes with 4503', async () => {
  const { principal, url, connected } = await account('free')
  const { raw, history: ask } = await connected()
  spendAllBut(principal, 1)
  const before = usedMilli(principal)
  const found = await ask({ limit: 10 })
  assert.ok(bytesOf(found) > 200)
  assert.deepEqual(await raw.closed(), { code: 4503, reason: 'quota exceeded' })
  assert.equal(usedMilli(principal), before + bytesOf(found) * MILLI_UNITS_PER_BYTE)
  assert.equal((await readRefusedUpgrade(url)).status, 403)
})

test('pushes beyond the quota are charged: the rest of the month does not pay for them again and again', async () => {
  const { principal, url, connected } = await account('free')
  const { raw } = await connected()
  raw.send(`{"subscribe":{"channel":"${TRADES}"},"id":2}`)
  await raw.frame('"id":2')
  spendAllBut(principal, 0.5)
  await stack.commit([{ trade: buildTradeEvent(9_001) }])
  await raw.frame('"push"')
  raw.ws.close()
  await until(() => stack.meter.quota(principal).remaining === 0, 'the charge')
  assert.equal((await readRefusedUpgrade(url)).status, 403)
})
