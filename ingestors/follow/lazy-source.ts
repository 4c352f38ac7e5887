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
export const deferredSource = ({ open, ...known }: DeferredOptions): Source => {
  let held: Opened | undefined
  const openFor = async (stop: AbortSignal): Promise<Source> => {
    if (held !== undefined && !held.stop.aborted) return held.source
    const failed = new AbortController()
    try {
      const source = await open(AbortSignal.any([stop, failed.signal]))
      held = { source, stop }
      return source
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }
  const node = (): NodeAnswers => {
    const answers = held?.source.node
    if (!answers) throw new Error('a node is asked before it gave a block')
    return answers
  }
  return {
    ...known,
    node: {
      facts: (protocols) => laterFacts(node, protocols),
      primes: (pools, book, at) => node().primes(pools, book, at),
    },
    head: () => held?.source.head() ?? null,
    takeRejectedResponses: () => held?.source.takeRejectedResponses?.() ?? [],
    async *operations(position, stop) {
      const source = await openFor(stop)
      yield* source.operations(position, stop)
    },
  }
}

/** Facts of the node that is open, whichever it is. */
const laterFacts = (node: () => NodeAnswers, protocols: ProtocolRegistry): MetadataReader => {
  let last: { readonly node: NodeAnswers; readonly reader: MetadataReader } | undefined
  return {
    metadataSource: 'node',
    verification: 'facts',
    read: (subjects, block, signal) => {
      const now = node()
      if (last?.node !== now) last = { node: now, reader: now.facts(protocols) }
      return last.reader.read(subjects, block, signal)
    },
  }
}
