/** A list that may be read, and who waits for it. */
export interface WaitingList {
  readonly name: string
  /** Organizations with a subscription to it. */
  readonly orgIds: ReadonlySet<string>
}

/**
 * Whose list is read next. Organizations take turns, those that were not served for longest first, and each takes the list of its own
 * that was not read for longest: many lists of one organization do not make those of another wait. A list that several wait for is
 * read in the turn of the first of them.
 */
export class ListTurns {
  #round = 0
  /** The round in which each list was read last, and in which each organization was served last. */
  #readIn: ReadonlyMap<string, number> = new Map()
  #servedIn: ReadonlyMap<string, number> = new Map()

  /** Names of the lists of the next round, `max` of them at most, each once. */
  next(waiting: readonly WaitingList[], max: number): readonly string[] {
    this.#round += 1
    const queues = this.#queues(waiting)
    const due = new Set<string>()
    const servedIn = new Map(this.#servedIn)
    let orgs = [...queues.keys()].toSorted((a, b) => lastOf(servedIn, a) - lastOf(servedIn, b))
    while (due.size < max && orgs.length > 0) {
      orgs = orgs.filter((orgId) => {
        if (due.size >= max) return true
        const name = nextOutside(queues.get(orgId), due)
        if (name === undefined) return false
        due.add(name)
        servedIn.set(orgId, this.#round)
        return true
      })
    }
    this.#servedIn = new Map([...servedIn].filter(([orgId]) => queues.has(orgId)))
    this.#readIn = new Map(
      waiting.map(({ name }) => [name, due.has(name) ? this.#round : lastOf(this.#readIn, name)]),
    )
    return [...due]
  }

  /** Names of the lists of each organization, those that were not read for longest first. */
  #queues(waiting: readonly WaitingList[]): ReadonlyMap<string, Iterator<string>> {
    const byOrg = new Map<string, string[]>()
    const inTurn = waiting.toSorted(
      (a, b) => lastOf(this.#readIn, a.name) - lastOf(this.#readIn, b.name),
    )
    for (const { name, orgIds } of inTurn) {
      for (const orgId of orgIds) {
        const names = byOrg.get(orgId) ?? []
        names.push(name)
        byOrg.set(orgId, names)
      }
    }
    return new Map([...byOrg].map(([orgId, names]) => [orgId, names.values()]))
  }
}

const lastOf = (rounds: ReadonlyMap<string, number>, name: string): number => rounds.get(name) ?? 0

const nextOutside = (
  names: Iterator<string> | undefined,
  taken: ReadonlySet<string>,
): string | undefined => {
  for (let next = names?.next(); next?.done === false; next = names?.next()) {
    if (!taken.has(next.value)) return next.value
  }
  return undefined
}
