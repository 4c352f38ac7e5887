import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { Agent, request } from 'undici'
import type { ProducerRecord } from '../core/bus/contract.ts'
import { topicName } from '../schemas/topics.ts'
import {
  buildTokenEvent,
  buildTokenRecord,
  startWebhookStack,
  type WebhookStack,
} from '../test/support/webhook-stack.ts'

/** Webhooks of a round; by the environment, to see what grows with it. */
const EVENTS = Number(process.env.SLUICE_BENCH_WEBHOOKS ?? 2_000)
const EVENTS_PER_RECORD = 1_000
const TOPIC = topicName('tokensCreated', 'sol')
/** Before the first round, so that both sides are compiled when it begins. */
const WARMUP = 10_000
const ROUNDS = 5
const AT_THE_SAME_TIME = 10
/** Interval of the looks at what arrived: short beside a round. */
const LOOK_MS = 1

/** A receiver in another thread that answers 200 and counts. */
const RECEIVER = `
const { workerData, parentPort } = require('node:worker_threads')
const counter = new Int32Array(workerData.shared)
const server = require('node:http').createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    Atomics.add(counter, 0, 1)
    response.writeHead(200).end()
  })
})
server.keepAliveTimeout = 60000
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

interface Receiver {
  readonly url: string
  received(): number
  stop(): Promise<unknown>
}

const startReceiver = async (): Promise<Receiver> => {
  const shared = new SharedArrayBuffer(4)
  const counter = new Int32Array(shared)
  const worker = new Worker(RECEIVER, { eval: true, workerData: { shared } })
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  return {
    url: `http://127.0.0.1:${port}/`,
    received: () => Atomics.load(counter, 0),
    stop: () => worker.terminate(),
  }
}

/** The least that a signed delivery needs: a request with one HMAC, ten at the same time. */
const bareLoop = async (url: string, bodies: readonly string[]): Promise<void> => {
  const dispatcher = new Agent()
  const key = Buffer.alloc(32, 1)
  let next = 0
  const send = async (): Promise<void> => {
    for (let at = next++; at < bodies.length; at = next++) {
      const body = bodies[at] ?? ''
      const id = `msg_${at}`
      const timestamp = String(Math.floor(Date.now() / 1_000))
      const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${mac}`,
      }
      const answer = await request(url, { method: 'POST', headers, body, dispatcher })
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: AT_THE_SAME_TIME }, send))
  await dispatcher.close()
}

let made = 0
/** Records of token events as the processors write them: making them does not belong to webhooks. */
const tokenRecords = ({ codec }: WebhookStack, count: number): readonly ProducerRecord[] => {
  const records: ProducerRecord[] = []
  for (let left = count; left > 0; left -= EVENTS_PER_RECORD) {
    const events = Array.from({ length: Math.min(left, EVENTS_PER_RECORD) }, () => {
      made += 1
      return buildTokenEvent(`BenchMint${made}`)
    })
    const value = codec.encode('token.TokenEvents', buildTokenRecord(events))
    records.push({ topic: TOPIC, key: `BenchMint${made}`, value })
  }
  return records
}

const secondsOf = async (work: () => Promise<unknown>): Promise<number> => {
  const startedMs = performance.now()
  await work()
  return (performance.now() - startedMs) / 1_000
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

/** Token events to delivered webhooks, matched, durable and recorded, against bare signed requests with the same bodies. */
export const webhooksBench = async (): Promise<void> => {
  const receiver = await startReceiver()
  const stack = await startWebhookStack({
    config: { webhookInFlight: AT_THE_SAME_TIME },
    keepCommits: false,
  })
  await stack.endpoint({ url: receiver.url })
  await stack.startMatcher()
  await stack.startSender()
  const writer = await stack.bus.writer('bench-tokens')
  const deliver = async (records: readonly ProducerRecord[], count: number): Promise<void> => {
    const wanted = receiver.received() + count
    for (const record of records) await writer.commit({ records: [record] })
    while (receiver.received() < wanted) await sleep(LOOK_MS)
  }
  const body = JSON.stringify({ channel: 'sol.token.created', data: 'x'.repeat(520) })
  const bodies = Array.from({ length: EVENTS }, () => body)
  await deliver(tokenRecords(stack, WARMUP), WARMUP)
  await bareLoop(
    receiver.url,
    Array.from({ length: WARMUP }, () => body),
  )
  const ours: number[] = []
  const bare: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const records = tokenRecords(stack, EVENTS)
    ours.push(EVENTS / (await secondsOf(() => deliver(records, EVENTS))))
    bare.push(EVENTS / (await secondsOf(() => bareLoop(receiver.url, bodies))))
  }
  const perSecond = median(ours)
  console.log(
    JSON.stringify({
      bench: 'webhooks',
      node: process.version,
      perSecond: Math.round(perSecond),
      barePerSecond: Math.round(median(bare)),
      ratio: Number((perSecond / median(bare)).toFixed(2)),
      aim: 0.5,
    }),
  )
  await stack.stop()
  await receiver.stop()
}
