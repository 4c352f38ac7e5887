import { join } from 'node:path'
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

const fetchPackage = ({ folder, wanted }: typeof SDK_PACKAGE): Promise<void> =>
  fetchOnce(folder, async (draft) => {
    await runProgram('pip', ['install', '--quiet', '--target', draft, wanted])
  })

/** Makes the Kafka client available. Needs pip, the first time with a network. */
export const fetchKafkaClient = (): Promise<void> => fetchPackage(KAFKA_CLIENT_PACKAGE)

/** Makes the SDK available that a rented service of this kind gives its users. Needs pip, the first time with a network. */
export const fetchSdk = (): Promise<void> => fetchPackage(SDK_PACKAGE)

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
