import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { cachedPath, fetchOnce, runProgram } from './download.ts'

const SCRIPTS_FOLDER = fileURLToPath(new URL('./python/', import.meta.url))
/** Packages of a stock client with their versions, and where they are kept. */
const KAFKA_CLIENT_PACKAGE = {
  folder: cachedPath('confluent-kafka-2.16.0'),
  wanted: 'confluent-kafka[avro,schemaregistry]==2.16.0',
}
const SDK_PACKAGE = {
  folder: cachedPath('chainstream-sdk-2.1.10'),
  wanted: 'chainstream-sdk==2.1.10',
}
const CENTRIFUGE_PACKAGE = {
  folder: cachedPath('centrifuge-python-0.7.0'),
  wanted: 'centrifuge-python==0.7.0',
}

const fetchPackage = ({ folder, wanted }: typeof SDK_PACKAGE): Promise<void> =>
  fetchOnce(folder, async (draft) => {
    await runProgram('pip', ['install', '--quiet', '--target', draft, wanted])
  })

/** Makes the Kafka client available. Needs pip, the first time with a network. */
export const fetchKafkaClient = (): Promise<void> => fetchPackage(KAFKA_CLIENT_PACKAGE)

/** Makes the SDK available that the reference API gives its users. Needs pip, the first time with a network. */
export const fetchSdk = (): Promise<void> => fetchPackage(SDK_PACKAGE)

/** Makes the Python client of Centrifuge available. Needs pip, the first time with a network. */
export const fetchCentrifugeClient = (): Promise<void> => fetchPackage(CENTRIFUGE_PACKAGE)

const runPython = (
  { folder }: typeof SDK_PACKAGE,
  script: string,
  args: readonly string[],
): Promise<string> =>
  runProgram('python3', [join(SCRIPTS_FOLDER, script), ...args], {
    env: { ...process.env, PYTHONPATH: folder },
    maxBuffer: 256 << 20,
  })

/** A record as Python's client prints it: times in epoch milliseconds, bytes in hex. */
export interface PythonRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: unknown
}

/** Everything on the topics, as Python's confluent-kafka with its Avro deserializer reads it. */
export const readWithPython = async (
  brokers: readonly string[],
  registryUrl: string,
  topics: readonly string[],
): Promise<readonly PythonRecord[]> => {
  const stdout = await runPython(KAFKA_CLIENT_PACKAGE, 'read_avro.py', [
    brokers.join(),
    registryUrl,
    ...topics,
  ])
  const lines = stdout.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line))
}

/** What the SDK read of a running demo. */
export interface SdkReading {
  /** By chain and subscription: the newest object, as the SDK prints it. */
  readonly heard: Readonly<Record<string, string>>
  /** By chain, group and operation: what the SDK made of the answer. Operations on webhooks have no chain. */
  readonly answered: Readonly<Record<string, { readonly text: string; readonly empty: boolean }>>
  /** By chain, group and operation: with what status the server refused, or 0 and why the SDK refused its answer. */
  readonly failed: Readonly<Record<string, { readonly status: number; readonly text: string }>>
}

/** Reads a demo with the SDK, by the file that names it, until all subscriptions of `wanted` called back or `seconds` are over. */
export const readWithSdk = async (
  demoFile: string,
  seconds: number,
  wanted: readonly string[],
): Promise<SdkReading> =>
  JSON.parse(await runPython(SDK_PACKAGE, 'read_sdk.py', [demoFile, String(seconds), ...wanted]))

/** What the SDK's models make of bodies, by a file of `[model, body]` pairs: its own fields of each. Fails where one does not parse. */
export const parseWithSdk = async (
  pairsFile: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  JSON.parse(await runPython(SDK_PACKAGE, 'parse_models.py', [pairsFile]))

/** A call of the SDK: the class of its group, its operation, and arguments by their names in the SDK. */
export type SdkCall = readonly [
  group: string,
  operation: string,
  given: Readonly<Record<string, unknown>>,
]

/** What the SDK made of the answers of a running server, as the fields that it sends. Throws for an answer that it refuses. */
export const callWithSdk = async (
  { baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string },
  calls: readonly SdkCall[],
): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  JSON.parse(await runPython(SDK_PACKAGE, 'call_sdk.py', [baseUrl, apiKey, JSON.stringify(calls)]))

/** What the Python client of Centrifuge heard. */
export interface CentrifugeReading {
  /** Data of the connect reply. */
  readonly connect: unknown
  readonly errors?: readonly string[]
  /** Publications by channel. */
  readonly heard: Readonly<Record<string, readonly unknown[]>>
}

/** Listens with the Python client of Centrifuge until each channel had `wanted` publications; `onSubscribed` runs once all are joined. */
export const listenWithPython = async (
  asked: {
    readonly url: string
    readonly token: string
    readonly encoding: 'json' | 'protobuf'
    readonly delta: 'fossil' | 'none'
    readonly wanted: number
    readonly channels: readonly string[]
  },
  onSubscribed: () => Promise<void>,
): Promise<CentrifugeReading> => {
  const { url, token, encoding, delta, wanted, channels } = asked
  const words = [url, token, encoding, delta, String(wanted), ...channels]
  const child = spawn('python3', [join(SCRIPTS_FOLDER, 'listen_centrifuge.py'), ...words], {
    env: { ...process.env, PYTHONPATH: CENTRIFUGE_PACKAGE.folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const first = await lines.next()
  if (first.value !== 'subscribed') throw new Error('the Python client did not subscribe')
  await onSubscribed()
  const second = await lines.next()
  if (second.done) throw new Error('the Python client ended before it had heard everything')
  return JSON.parse(second.value)
}
