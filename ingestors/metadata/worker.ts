import type { Bus, RunningTask, TopicSpec } from '../../core/bus/contract.ts'
import { changelogSpec, deadLetterSpec } from '../../core/bus/topic-specs.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import {
  addressRules,
  openOutboundClient,
  type ResolveHost,
} from '../../core/http/guarded-client.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { retry } from '../../core/retry.ts'
import { deadLetterTopic, stateTopic, topicName } from '../../schemas/topics.ts'
import { fetchText, Unfetched } from './fetch.ts'
import { documentOf, type TokenDocument } from './fields.ts'
import { makeHosts } from './hosts.ts'
import { DocumentLane } from './lane.ts'
import { uriTarget } from './uri.ts'

/** Settings of the worker. */
type Settings = Pick<
  Config,
  | 'partitions'
  | 'retention'
  | 'metadataIpfsGateway'
  | 'metadataArweaveGateway'
  | 'metadataAllow'
  | 'metadataTimeoutMs'
  | 'metadataTries'
  | 'metadataMaxBytes'
  | 'metadataInFlight'
  | 'metadataInFlightPerHost'
>

/** What the worker is made of. */
export interface DocumentsOptions {
  readonly chains: readonly string[]
  readonly bus: Bus
  readonly codec: Codec
  readonly config: Settings
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs?: () => number
  /** Default: the system's name servers. */
  readonly resolve?: ResolveHost
}

const APP = 'documents'
/** Pauses between attempts: one second, then doubling. */
const PAUSE = { firstMs: 1_000, maxMs: 30_000 }

/** Consumer group of a chain's worker. */
export const documentsGroup = (chain: string): string => `${APP}.${chain}`

/** Topics that the worker needs beside the documented ones. */
export const documentTopics = (
  chain: string,
  { partitions, retention }: Pick<Config, 'partitions' | 'retention'>,
): readonly TopicSpec[] => [
  changelogSpec(stateTopic(APP, chain), partitions),
  deadLetterSpec(deadLetterTopic(documentsGroup(chain)), retention),
]

/**
 * Follows `{c}.tokens.created`, fetches the document that each token names and publishes what it says on
 * `{c}.token-documents`, once per token and URI. A document that cannot be had is counted and left out. Processes share
 * the lanes. Throws `Outage` when the bus does not answer.
 */
export const startDocuments = async (options: DocumentsOptions): Promise<RunningTask> => {
  const { chains, bus, codec, config, metrics, nowMs = Date.now } = options
  await bus.createTopics(chains.flatMap((chain) => documentTopics(chain, config)))
  const { fetch, close } = openFetcher(options, nowMs)
  const running: RunningTask[] = []
  for (const chain of chains) {
    const deps = {
      chain,
      codec,
      metrics,
      nowMs,
      fetch,
      group: documentsGroup(chain),
      store: stateTopic(APP, chain),
      log: options.log.child({ role: 'documents', chain }),
    }
    const lanes = await bus.subscribe({
      group: deps.group,
      topics: [topicName('tokensCreated', chain)],
      run: (lane) => new DocumentLane(deps, lane).run(),
    })
    running.push(lanes)
  }
  return {
    stop: async () => {
      await Promise.all(running.map((lanes) => lanes.stop()))
      await close()
    },
  }
}

interface Fetcher {
  /** Throws `Unfetched` when it gives up, or the signal's reason. */
  fetch(uri: string, signal: AbortSignal): Promise<TokenDocument>
  close(): Promise<void>
}

const openFetcher = ({ config, resolve }: DocumentsOptions, nowMs: () => number): Fetcher => {
  const { metadataTimeoutMs: timeoutMs, metadataMaxBytes: mostBytes, metadataTries: tries } = config
  const gateways = { ipfs: config.metadataIpfsGateway, arweave: config.metadataArweaveGateway }
  const outbound = openOutboundClient({
    rules: addressRules(config.metadataAllow),
    plainHttp: 'open',
    ...(resolve && { resolve }),
  })
  const { metadataInFlight: inFlight, metadataInFlightPerHost: inFlightPerHost } = config
  const hosts = makeHosts({ inFlight, inFlightPerHost }, nowMs)
  const textOf = (uri: string, signal: AbortSignal): Promise<string> | string => {
    const target = uriTarget(uri, gateways, mostBytes)
    if ('dropped' in target) throw new Unfetched(target.dropped)
    if ('text' in target) return target.text
    const { url } = target
    const plan = { outbound, timeoutMs, mostBytes, signal }
    return retry(() => hosts.run(url.host, () => fetchText(url, plan)), {
      ...PAUSE,
      tries,
      signal,
      again: (error) => error instanceof Unfetched && error.temporary,
    })
  }
  return {
    fetch: async (uri, signal) => {
      const document = documentOf(await textOf(uri, signal), gateways)
      if ('dropped' in document) throw new Unfetched(document.dropped)
      return document
    },
    close: () => outbound.close(),
  }
}
