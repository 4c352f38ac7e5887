/** Transactions of a chain that are looked at in one turn, and those of one organization among them; the others come with the next. */
const [MAX_PER_TURN, MAX_PER_ORG] = [50, 10]
/** Age until which a transaction is looked at as often as its chain wants: no blockhash lives as long. */
const NEW_FOR_MS = 120_000
/** Longest time between two looks at an older one. */
const MAX_AGED_WAIT_MS = 60_000

/** Time until the next look at a transaction of this age: a tenth of it, at most what its chain wants while it is new, later a minute; ms. */
export const nextLookMs = (ageMs: number, maxWaitMs: number): number =>
  Math.min(ageMs < NEW_FOR_MS ? maxWaitMs : Math.max(maxWaitMs, MAX_AGED_WAIT_MS), ageMs / 10)

/** A transaction that is followed. */
interface Followed {
  readonly job: { readonly orgId: string }
  /** When it is to be looked at. */
  readonly schedule: { readonly nextMs: number }
}

/** Those that are looked at now, the ones that wait for longest first, so many of each organization: a look may send one again. */
export const dueNow = <Each extends Followed>(
  all: readonly Each[],
  nowMs: number,
): readonly Each[] => {
  const counts = new Map<string, number>()
  return all
    .filter(({ schedule }) => schedule.nextMs <= nowMs)
    .toSorted((one, other) => one.schedule.nextMs - other.schedule.nextMs)
    .filter(({ job: { orgId } }) => {
      const count = (counts.get(orgId) ?? 0) + 1
      counts.set(orgId, count)
      return count <= MAX_PER_ORG
    })
    .slice(0, MAX_PER_TURN)
}
