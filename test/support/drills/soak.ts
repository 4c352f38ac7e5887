/**
 * The soak of `npm run drill`: the whole product in one process under a steady load, its memory and CPU time, and the time from a block
 * being announced by its node to each `dex-trade` frame at a stock client in another process. Measured is from when it has caught up.
 *
 * SLUICE_SOAK_MINUTES (10), SLUICE_SOAK_RATES (sol:480,eth:20: trades a second of each chain, most of them where most of the world's
 * are) and SLUICE_SOAK_INSIDE=1 (the simulated chains in the product's process too, as `npm start` has them) set it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Centrifuge } from 'centrifuge'
import { WebSocket } from 'ws'
import { quantile } from '../../../bench/quantile.ts'
import { makeQuoteAssets } from '../../../core/prices/quote-assets.ts'
import { CHAINS } from '../../../schemas/chains.ts'
import type { SoakChain, SoakMessage, SoakNode, SoakOptions } from './soak-child.ts'

const CHILD = fileURLToPath(new URL('./soak-child.ts', import.meta.url))
/** How `npm start` and the image run the product. */
const PRODUCTION_NODE_OPTIONS = ['--max-semi-space-size=32']
/** Measured is what it holds: from when frames are not later than that, or from this long after the start. */
const CAUGHT_UP_MS = 2_000
const WARM_UP_MS = { least: 20_000, most: 300_000, look: 15_000 }
const START_MS = 120_000
const MEGABYTE = 1_048_576

const minutes = Number(process.env.SLUICE_SOAK_MINUTES ?? 10)
const inside = process.env.SLUICE_SOAK_INSIDE === '1'
const rates = (process.env.SLUICE_SOAK_RATES ?? 'sol:480,eth:20').split(',')
const chains: readonly SoakChain[] = rates
  .map((text) => /^(sol|eth):(\d{1,5})$/.exec(text))
  .flatMap((found) =>
    found ? [{ id: found[1] === 'sol' ? 'sol' : 'eth', ratePerSecond: Number(found[2]) }] : [],
  )
if (
  !(minutes > 0) ||
  chains.length !== rates.length ||
  chains.some((one) => one.ratePerSecond === 0)
) {
  console.error('SLUICE_SOAK_MINUTES above 0; SLUICE_SOAK_RATES: sol:480,eth:20 or one of them')
  process.exit(2)
}

type MessageOf<Kind extends SoakMessage['kind']> = Extract<SoakMessage, { readonly kind: Kind }>

/** Starts a process of the soak; `word` waits for what it says, `usage` is the newest that it said of itself. */
const startChild = (order: SoakOptions) => {
  const execArgv = [...process.execArgv, ...(order.product ? PRODUCTION_NODE_OPTIONS : [])]
  const child = fork(CHILD, [JSON.stringify(order)], { execArgv })
  const usage = { ownBytes: 0, highestBytes: 0, fileBytes: 0, heapBytes: 0, cpuMs: 0 }
  const said = new Map<SoakMessage['kind'], SoakMessage>()
  const waiting = new Map<SoakMessage['kind'], (word: SoakMessage) => void>()
  child.on('message', (word: SoakMessage) => {
    said.set(word.kind, word)
    waiting.get(word.kind)?.(word)
    if (word.kind !== 'usage') return
    const { ownBytes, fileBytes, heapBytes, cpuMs } = word
    const highestBytes = Math.max(usage.highestBytes, ownBytes)
    Object.assign(usage, { ownBytes, highestBytes, fileBytes, heapBytes, cpuMs })
  })
  const word = <Kind extends SoakMessage['kind']>(kind: Kind): Promise<MessageOf<Kind>> =>
    new Promise((resolve, reject) => {
      const take = (found: SoakMessage): void => resolve(found as MessageOf<Kind>)
      const found = said.get(kind)
      if (found !== undefined) take(found)
      waiting.set(kind, take)
      child.once('exit', (code) => reject(new Error(`a process of the soak ended with ${code}`)))
      setTimeout(() => reject(new Error(`no word of ${kind}`)), START_MS).unref()
    })
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return
    child.disconnect()
    await once(child, 'exit')
  }
  return { word, usage, isRunning: () => child.exitCode === null, stop }
}

const BLOCK_NOTICES = {
  encoding: 'json',
  transactionDetails: 'signatures',
  showRewards: false,
  maxSupportedTransactionVersion: 0,
  commitment: 'confirmed',
}
const SUBSCRIBE = {
  sol: { method: 'blockSubscribe', params: ['all', BLOCK_NOTICES] },
  eth: { method: 'eth_subscribe', params: ['newHeads'] },
} as const

interface Notice {
  readonly params?: {
    readonly result?: {
      readonly timestamp?: string
      readonly value?: { readonly block?: { readonly signatures?: readonly string[] } }
    }
  }
}

/** Names by which the trades of an announced block are known: their transactions, or the block's time. */
const tradeKeys = ({ params }: Notice): readonly string[] => {
  const { timestamp, value } = params?.result ?? {}
  if (timestamp !== undefined) return [String(Number(timestamp) * 1_000)]
  return value?.block?.signatures ?? []
}

/** Blocks as the node announces them; forgets those that are a minute old. */
const watchAnnouncedBlocks = async ({ id, url }: SoakNode) => {
  const announced = new Map<string, number>()
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.on('message', (data) => {
    const atMs = performance.now()
    for (const name of tradeKeys(JSON.parse(String(data)))) announced.set(name, atMs)
    for (const [name, sinceMs] of announced) {
      if (atMs - sinceMs < 60_000) break
      announced.delete(name)
    }
  })
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, ...SUBSCRIBE[id] }))
  return { announced, close: () => socket.close() }
}

/** Delays of the `dex-trade` frames of a chain's quote assets, milliseconds; `forget` begins anew. */
const measureChain = async (node: SoakNode, client: Centrifuge) => {
  const { announced, close } = await watchAnnouncedBlocks(node)
  const delays: number[] = []
  for (const token of makeQuoteAssets(CHAINS[node.id], node.extra).assets.keys()) {
    const subscription = client.newSubscription(`dex-trade:${node.id}_${token}`)
    subscription.on('publication', ({ data }) => {
      const name = node.id === 'sol' ? data.h : String(data.t)
      const seenMs = announced.get(name)
      if (seenMs !== undefined) delays.push(performance.now() - seenMs)
    })
    subscription.subscribe()
    await subscription.ready(10_000)
  }
  const forget = (): void => {
    delays.length = 0
  }
  return { id: node.id, delays, forget, close }
}

const nodesChild = inside ? undefined : startChild({ make: chains, follow: [], product: false })
const follow = (await nodesChild?.word('nodes'))?.nodes ?? []
const product = startChild({ make: inside ? chains : [], follow, product: true })
const { nodes } = await product.word('nodes')
const { wsUrl, apiKey } = await product.word('product')
const client = new Centrifuge(wsUrl, { token: apiKey, websocket: WebSocket })
client.connect()
const measured = await Promise.all(nodes.map((node) => measureChain(node, client)))
const sorted = (delays: readonly number[]): readonly number[] => delays.toSorted((a, b) => a - b)
const isLate = (delays: readonly number[]): boolean =>
  delays.length === 0 || quantile(sorted(delays), 0.5) > CAUGHT_UP_MS
const startedMs = Date.now()
await sleep(WARM_UP_MS.least)
while (Date.now() < startedMs + WARM_UP_MS.most && product.isRunning()) {
  for (const { forget } of measured) forget()
  await sleep(WARM_UP_MS.look)
  if (!measured.some(({ delays }) => isLate(delays))) break
}
const warmUpSeconds = Math.round((Date.now() - startedMs) / 1_000)
for (const { forget } of measured) forget()
const beganCpuMs = product.usage.cpuMs
const endMs = Date.now() + minutes * 60_000
while (Date.now() < endMs && product.isRunning()) await sleep(1_000)
const megabytes = (bytes: number): number => Math.round(bytes / MEGABYTE)
for (const { id, delays: heard, close } of measured) {
  const delays = sorted(heard)
  const line = {
    drill: 'soak',
    chain: id,
    minutes,
    inside,
    warmUpSeconds,
    tradesPerSecond: chains.find((chain) => chain.id === id)?.ratePerSecond,
    framesPerSecond: Math.round(delays.length / (minutes * 60)),
    p50Ms: Math.round(quantile(delays, 0.5)),
    p99Ms: Math.round(quantile(delays, 0.99)),
    memoryMb: megabytes(product.usage.ownBytes),
    highestMemoryMb: megabytes(product.usage.highestBytes),
    heapMb: megabytes(product.usage.heapBytes),
    mappedFilesMb: megabytes(product.usage.fileBytes),
    cores: Math.round((product.usage.cpuMs - beganCpuMs) / (minutes * 600)) / 100,
  }
  console.log(JSON.stringify(line))
  close()
}
const failed = !product.isRunning() || measured.some(({ delays }) => delays.length === 0)
client.disconnect()
await product.stop()
await nodesChild?.stop()
process.exitCode = failed ? 1 : 0
