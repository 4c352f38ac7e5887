import { createHash } from 'node:crypto'

/** A member of a group as it asks for lanes. */
export interface LaneMember {
  /** Id in the group, another one after each start. */
  readonly id: string
  /** Name that a process keeps over its restarts. */
  readonly name: string
  /** When the process started, epoch milliseconds: of two members with one name the older is gone already. */
  readonly bornMs: number
  /** Lanes that it runs now. */
  readonly owned: readonly number[]
  /** Lanes whose state it still has on its disk, the last one that it ran first. */
  readonly kept: readonly number[]
}

interface MemberSlot {
  readonly id: string
  readonly name: string
  readonly owned: ReadonlySet<number>
  /** Lane to its index in the list. */
  readonly kept: ReadonlyMap<number, number>
  readonly lanes: Set<number>
}

/**
 * Hands out lanes so that no member has two more than another, and as few as possible change their owner: who runs a lane
 * keeps it, and a process that comes back takes its own lanes first. The same members give the same answer.
 */
export const assignLanes = (
  members: readonly LaneMember[],
  lanes: number,
): ReadonlyMap<string, readonly number[]> => {
  const seats = memberSlots(members)
  const most = Math.ceil(lanes / Math.max(1, seats.length))
  const free: number[] = []
  for (let lane = 0; lane < lanes; lane += 1) {
    const owner = highestRanked(seats, lane, (seat) => seat.owned.has(lane))
    if (owner === undefined) free.push(lane)
    else owner.lanes.add(lane)
  }
  for (const lane of free) {
    const least = Math.min(...seats.map((seat) => seat.lanes.size))
    const last = highestRanked(seats, lane, (seat) => seat.kept.has(lane) && seat.lanes.size < most)
    const owner = last ?? highestRanked(seats, lane, (seat) => seat.lanes.size === least)
    owner?.lanes.add(lane)
  }
  while (moveOneLane(seats));
  const given = new Map(seats.map(({ id, lanes }) => [id, [...lanes].toSorted((a, b) => a - b)]))
  return new Map(members.map(({ id }) => [id, given.get(id) ?? []]))
}

/** One seat per name, for its newest member, with what the older ones ran; in the order of names. */
const memberSlots = (members: readonly LaneMember[]): readonly MemberSlot[] => {
  const byName = new Map<string, LaneMember[]>()
  for (const member of members) {
    byName.set(member.name, [...(byName.get(member.name) ?? []), member])
  }
  return [...byName.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, own]) => {
      const [newest] = own.toSorted((a, b) => b.bornMs - a.bornMs || (a.id < b.id ? -1 : 1))
      if (newest === undefined) return []
      return [
        {
          id: newest.id,
          name,
          lanes: new Set<number>(),
          owned: new Set(own.flatMap(({ owned }) => owned)),
          kept: new Map(newest.kept.map((lane, index) => [lane, index])),
        },
      ]
    })
}

/** Rank of a member for a lane (rendezvous hashing): every member would like other lanes first. */
const rendezvousRank = (name: string, lane: number): number =>
  createHash('sha1').update(`${lane}/${name}`).digest().readUInt32BE(0)

const highestRanked = (
  seats: readonly MemberSlot[],
  lane: number,
  may: (seat: MemberSlot) => boolean,
): MemberSlot | undefined => {
  let found: { readonly seat: MemberSlot; readonly rank: number } | undefined
  for (const seat of seats) {
    if (!may(seat)) continue
    const own = rendezvousRank(seat.name, lane)
    if (found === undefined || own > found.rank) found = { seat, rank: own }
  }
  return found?.seat
}

/** Moves a lane from who has most to who has least, one of the taker's own where there is one. False: all is even. */
const moveOneLane = (seats: readonly MemberSlot[]): boolean => {
  const sizes = seats.map(({ lanes }) => lanes.size)
  const [most, least] = [Math.max(...sizes), Math.min(...sizes)]
  if (seats.length === 0 || most - least < 2) return false
  const taker = seats.find(({ lanes }) => lanes.size === least)
  const offers = seats
    .filter(({ lanes }) => lanes.size === most)
    .flatMap((giver) => [...giver.lanes].map((lane) => ({ giver, lane })))
  if (taker === undefined) return false
  const rankOf = (lane: number): number => taker.kept.get(lane) ?? taker.kept.size
  const [first] = offers.toSorted(
    (a, b) =>
      rankOf(a.lane) - rankOf(b.lane) ||
      rendezvousRank(taker.name, b.lane) - rendezvousRank(taker.name, a.lane),
  )
  if (first === undefined) return false
  first.giver.lanes.delete(first.lane)
  taker.lanes.add(first.lane)
  return true
}
