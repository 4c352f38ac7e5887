import type { RiskCategoryName, SearchBounds } from '../../schemas/risk.ts'

/** Which way money is followed: to where it came from, or to where it went. */
export type Side = 'received' | 'sent'

/** A label as it is reported in answers. */
export interface AddressLabel {
  readonly address: string
  readonly category: RiskCategoryName
  readonly entity: string
  readonly source: string
  readonly confidence: number
  readonly evidenceUrl: string
  readonly validFromMs: number
  /** null: still valid. */
  readonly validToMs: number | null
}

/** All money between two addresses on one side of the first. */
export interface Edge {
  readonly address: string
  readonly counterparty: string
  readonly usd: number
  /** Part of all money of that side of `address`, 0 to 1. */
  readonly share: number
  readonly firstMs: number
  readonly lastMs: number
  /** Counterparties of `address` on that side. */
  readonly degree: number
}

/** Edges of some addresses; `cut`: a bound of the engine left some out. */
export interface EdgeAnswer {
  readonly edges: readonly Edge[]
  readonly cut: boolean
}

/** Valid labels by address; `cut`: some may be missing. */
export interface LabelAnswer {
  readonly labels: ReadonlyMap<string, readonly AddressLabel[]>
  readonly cut: boolean
}

/** Where the search reads from. Labels are those valid when it runs. */
export interface GraphReader {
  /** Followed edges of the addresses: above the floors, the largest of each up to the fan-out. */
  edges(addresses: readonly string[], side: Side): Promise<EdgeAnswer>
  /** Edges of one address to labelled counterparties, without a floor. */
  labelledEdges(address: string, side: Side): Promise<EdgeAnswer>
  labels(addresses: readonly string[]): Promise<LabelAnswer>
}

/** Money that reached or left through a labelled address, with the way it took. */
export interface FoundExposure {
  readonly side: Side
  readonly label: AddressLabel
  readonly hops: number
  readonly share: number
  /** Addresses from the start to the source; the way with the largest share. */
  readonly path: readonly string[]
  /** Money of the last step of that way, and when it moved. */
  readonly lastEdge: Pick<Edge, 'usd' | 'firstMs' | 'lastMs'>
}

/** What a search found. */
export interface SearchResult {
  readonly exposures: readonly FoundExposure[]
  /** True: a bound was met, so there may be more. */
  readonly truncated: boolean
}

/** Where and how far to search. */
export interface SearchRequest {
  readonly start: string
  readonly side: Side
  /** Hops at which the start already stands: 1 for the other side of a transfer. Default 0. */
  readonly startHops?: number
  readonly bounds: SearchBounds
  readonly nowMs: () => number
}

interface Reached {
  readonly share: number
  readonly path: readonly string[]
  readonly bestShare: number
  readonly lastEdge: Edge
}

/** Labels that end a way, all of them: labelled addresses are told and not followed. */
const exposuresAt = (
  { share, path, lastEdge }: Reached,
  labels: readonly AddressLabel[],
  step: { readonly side: Side; readonly hops: number },
): readonly FoundExposure[] => labels.map((label) => ({ ...step, label, share, path, lastEdge }))

/**
 * Breadth-first search for labelled addresses. An address is assessed at its least number of hops; what reaches it there over several
 * addresses is added up, each way carrying the product of its shares. Labelled addresses and services are not followed.
 */
export const searchExposures = async (
  reader: GraphReader,
  request: SearchRequest,
): Promise<SearchResult> => {
  const { start, side, startHops = 0, bounds, nowMs } = request
  const endMs = nowMs() + bounds.timeMs
  const seen = new Set([start])
  const direct = await reader.labelledEdges(start, side)
  let truncated = direct.cut
  const exposures: FoundExposure[] = []
  const origin: Reached = {
    share: 1,
    path: [start],
    bestShare: 1,
    lastEdge: {
      address: '',
      counterparty: start,
      usd: 0,
      share: 1,
      firstMs: 0,
      lastMs: 0,
      degree: 0,
    },
  }
  let frontier = new Map<string, Reached>([[start, origin]])
  let extra: readonly Edge[] = direct.edges
  for (let hops = startHops + 1; hops <= bounds.maxHops && frontier.size > 0; hops++) {
    if (nowMs() >= endMs) return { exposures, truncated: true }
    const read = await reader.edges([...frontier.keys()], side)
    const reached = reach(frontier, [...read.edges.filter(isFollowed(extra)), ...extra], {
      seen,
      bounds,
    })
    extra = []
    const { labels, cut } = await reader.labels([...reached.next.keys()])
    for (const address of reached.next.keys()) seen.add(address)
    truncated ||= read.cut || reached.hasService
    const open: [string, Reached][] = []
    for (const [address, how] of reached.next) {
      const own = labels.get(address) ?? []
      exposures.push(...exposuresAt(how, own, { side, hops }))
      if (own.length === 0) open.push([address, how])
    }
    // An address whose labels were not read may be one that is not followed.
    if (cut) return { exposures, truncated: true }
    truncated ||= open.length > bounds.frontier
    frontier = new Map(
      open.toSorted(([, one], [, other]) => other.share - one.share).slice(0, bounds.frontier),
    )
  }
  return { exposures, truncated }
}

/** Edges that the read of labelled counterparties did not bring already. */
const isFollowed = (edges: readonly Edge[]): ((edge: Edge) => boolean) => {
  const names = new Set(edges.map(({ counterparty }) => counterparty))
  return ({ counterparty }) => !names.has(counterparty)
}

const reach = (
  frontier: ReadonlyMap<string, Reached>,
  edges: readonly Edge[],
  { seen, bounds }: { readonly seen: ReadonlySet<string>; readonly bounds: SearchBounds },
): { readonly next: ReadonlyMap<string, Reached>; readonly hasService: boolean } => {
  const next = new Map<string, Reached>()
  let hasService = false
  for (const edge of edges) {
    const from = frontier.get(edge.address)
    if (from === undefined || seen.has(edge.counterparty)) continue
    if (edge.degree > bounds.maxDegree && from.path.length > 1) {
      hasService = true
      continue
    }
    const share = from.share * edge.share
    const wayShare = from.bestShare * edge.share
    const reached = next.get(edge.counterparty)
    const isBest = reached === undefined || wayShare > reached.bestShare
    next.set(edge.counterparty, {
      share: (reached?.share ?? 0) + share,
      bestShare: isBest ? wayShare : reached.bestShare,
      path: isBest ? [...from.path, edge.counterparty] : reached.path,
      lastEdge: isBest ? edge : reached.lastEdge,
    })
  }
  return { next, hasService }
}
