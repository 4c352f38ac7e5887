import type { AssessmentRequest, AssessmentRow } from './assessment.ts'

/** Characters at each end that people compare; a poisoned address has the same ones. */
const COMPARED = 4

const ends = (address: string): string => {
  const body = address.replace(/^0x/, '')
  return `${body.slice(0, COMPARED)}${body.slice(-COMPARED)}`
}

/** What a record asks for; undefined where it cannot be read. */
export const requestOf = ({
  request,
}: Pick<AssessmentRow, 'request'>): AssessmentRequest | undefined => {
  try {
    return JSON.parse(request)
  } catch {
    return undefined
  }
}

/** The target of a withdrawal. */
export interface WithdrawalTarget {
  readonly chain: string
  readonly address: string
}

/** Targets of the registered withdrawals, by organization, chain and both ends of the address. */
export interface WithdrawalTargets {
  /** Takes in a record as it stands now; its request is read only where it is new. */
  set(record: AssessmentRow): void
  remove(orgId: string, id: string): void
  /**
   * Addresses that the target of a record imitates: other ones with the same beginning and end, to which its organization registered
   * withdrawals on the chain before; the longest known first. It looks at those with these ends only.
   */
  lookAlikesOf(record: AssessmentRow, target: WithdrawalTarget): readonly string[]
}

interface Entry {
  readonly request: string
  readonly createdAt: number
  /** How many withdrawals the organization had registered before. */
  readonly place: number
  /** undefined: the request cannot be read. */
  readonly target: WithdrawalTarget | undefined
}

interface OrgTargets {
  readonly byId: Map<string, Entry>
  readonly byEnds: Map<string, Map<string, Entry>>
  registered: number
}

const endsKey = ({ chain, address }: WithdrawalTarget): string => `${chain} ${ends(address)}`

const targetOf = (record: AssessmentRow): WithdrawalTarget | undefined => {
  const asked = requestOf(record)
  return asked?.kind === 'withdrawal' && typeof asked.address === 'string'
    ? { chain: asked.chain, address: asked.address }
    : undefined
}

const leaveEnds = ({ byEnds }: OrgTargets, id: string, { target }: Entry): void => {
  if (target === undefined) return
  const key = endsKey(target)
  const same = byEnds.get(key)
  same?.delete(id)
  if (same?.size === 0) byEnds.delete(key)
}

/** No withdrawals. As many entries are held as there are records. */
export const createWithdrawalTargets = (): WithdrawalTargets => {
  const orgs = new Map<string, OrgTargets>()
  const orgOf = (orgId: string): OrgTargets => {
    const org = orgs.get(orgId) ?? { byId: new Map(), byEnds: new Map(), registered: 0 }
    orgs.set(orgId, org)
    return org
  }
  const remove = (orgId: string, id: string): void => {
    const org = orgs.get(orgId)
    const known = org?.byId.get(id)
    if (org === undefined || known === undefined) return
    leaveEnds(org, id, known)
    org.byId.delete(id)
    if (org.byId.size === 0) orgs.delete(orgId)
  }
  return {
    set: (record) => {
      const { org_id: orgId, id, request, created_at: createdAt } = record
      if (record.kind !== 'withdrawal') {
        remove(orgId, id)
        return
      }
      const org = orgOf(orgId)
      const known = org.byId.get(id)
      if (known?.request === request && known.createdAt === createdAt) return
      if (known !== undefined) leaveEnds(org, id, known)
      const target = targetOf(record)
      const entry = { request, createdAt, place: known?.place ?? org.registered++, target }
      org.byId.set(id, entry)
      if (target === undefined) return
      const key = endsKey(target)
      const same = org.byEnds.get(key) ?? new Map<string, Entry>()
      org.byEnds.set(key, same.set(id, entry))
    },
    remove,
    lookAlikesOf: ({ org_id: orgId, created_at: createdAt }, target) => {
      const same = orgs.get(orgId)?.byEnds.get(endsKey(target)) ?? new Map<string, Entry>()
      const earlier: { readonly place: number; readonly address: string }[] = []
      for (const { place, target: known, createdAt: knownAt } of same.values())
        if (known !== undefined && known.address !== target.address && knownAt < createdAt)
          earlier.push({ place, address: known.address })
      earlier.sort((one, other) => one.place - other.place)
      return [...new Set(earlier.map(({ address }) => address))]
    },
  }
}
