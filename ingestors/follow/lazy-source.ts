import type { MetadataReader } from '../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../decode/protocol-registry.ts'
import type { NodeAnswers, Source } from './contract.ts'

/** A source that is opened when it is read, so that a chain whose nodes do not answer holds no other chain up. */
export interface DeferredOptions extends Pick<Source, 'origin' | 'commitment' | 'gaps'> {
  /** Opens the source of a node; it ends with the signal. Throws `Outage` while no endpoint answers. */
  readonly open: (signal: AbortSignal) => Promise<Source>
}

interface Opened {
  readonly source: Source
  readonly stop: AbortSignal
}

/** The source of a node that opens itself for each owner of the chain; `operations` throw what opening throws. */
export const deferredSource = ({ open, ...properties }: DeferredOptions): Source => {
  let opened: Opened | undefined
  const openFor = async (stop: AbortSignal): Promise<Source> => {
    if (opened !== undefined && !opened.stop.aborted) return opened.source
    const failed = new AbortController()
    try {
      const source = await open(AbortSignal.any([stop, failed.signal]))
      opened = { source, stop }
      return source
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }
  const node = (): NodeAnswers => {
    const answers = opened?.source.node
    if (!answers) throw new Error('the node source is not open yet; operations() opens it')
    return answers
  }
  return {
    ...properties,
    node: {
      metadataReader: (protocols) => lazyMetadataReader(node, protocols),
      seedPrices: (pools, quoteAssets, at) => node().seedPrices(pools, quoteAssets, at),
    },
    head: () => opened?.source.head() ?? null,
    takeRejectedResponses: () => opened?.source.takeRejectedResponses?.() ?? [],
    async *operations(position, stop) {
      const source = await openFor(stop)
      yield* source.operations(position, stop)
    },
  }
}

/** Metadata from the node that is open, whichever it is. */
const lazyMetadataReader = (
  node: () => NodeAnswers,
  protocols: ProtocolRegistry,
): MetadataReader => {
  let last: { readonly node: NodeAnswers; readonly reader: MetadataReader } | undefined
  return {
    metadataSource: 'node',
    verification: 'facts',
    read: (lookups, block, signal) => {
      const now = node()
      if (last?.node !== now) last = { node: now, reader: now.metadataReader(protocols) }
      return last.reader.read(lookups, block, signal)
    },
  }
}
