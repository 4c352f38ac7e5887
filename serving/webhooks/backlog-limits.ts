/** Most messages that wait in one process; beyond a limit the oldest of the longest queues are dropped. */
export interface BacklogLimits {
  readonly perEndpoint: number
  readonly perOrg: number
  readonly total: number
}

/** A message that waits takes some 200 bytes of memory. */
export const BACKLOG_LIMITS: BacklogLimits = {
  perEndpoint: 100_000,
  perOrg: 250_000,
  total: 1_000_000,
}

/** Messages that wait for one endpoint. */
export interface QueueSize {
  readonly orgId: string
  readonly size: number
}

/**
 * Longest queue that an endpoint of an organization may have, by the queues of the process. Above the limit of all, the
 * organizations with the most messages share what the others leave; within one, so do the endpoints with the longest queues.
 */
export const queueLimits = (
  queues: readonly QueueSize[],
  { perEndpoint, perOrg, total }: BacklogLimits,
): ((orgId: string) => number) => {
  const sizesByOrg = new Map<string, number[]>()
  for (const { orgId, size } of queues) {
    const sizes = sizesByOrg.get(orgId)
    if (sizes) sizes.push(size)
    else sizesByOrg.set(orgId, [size])
  }
  const totals = [...sizesByOrg.values()].map((sizes) => Math.min(perOrg, sum(sizes)))
  const orgLimit = Math.min(perOrg, largestShare(totals, total))
  return (orgId) => Math.min(perEndpoint, largestShare(sizesByOrg.get(orgId) ?? [], orgLimit))
}

/** Size to which the largest are cut so that the sum keeps the limit; Infinity = it does. */
const largestShare = (sizes: readonly number[], limit: number): number => {
  let left = limit
  let count = sizes.length
  for (const size of sizes.toSorted((one, other) => one - other)) {
    const share = Math.floor(left / count)
    if (size > share) return share
    left -= size
    count -= 1
  }
  return Number.POSITIVE_INFINITY
}

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0)
