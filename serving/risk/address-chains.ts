import { storedAddress } from '../../core/addresses.ts'
import { HOUR_MS } from '../../core/time.ts'
import type { AssessmentRow } from './assessment.ts'

/** Least time between two screenings for chains: processes with different chains would otherwise have a record screened without end. */
const CHAINS_PAUSE_MS = HOUR_MS

/** Those of the chains that have such addresses. */
export const chainsOfAddress = (address: string, chains: readonly string[]): readonly string[] =>
  chains.filter((chain) => storedAddress(chain, address) !== undefined)

/** The address of a record with the chains that it was screened on; undefined where the record cannot be read. */
const addressOf = ({ request }: AssessmentRow) => {
  try {
    const { address, chains } = JSON.parse(request)
    return { address: String(address), chains: new Set<unknown>(chains) }
  } catch {
    return undefined
  }
}

/**
 * A record as it is due where these chains are enabled: a finished one of an address that was not screened on each of them is due an
 * hour after it was screened, also before its period is over.
 */
export const dueForChains = (record: AssessmentRow, enabled: readonly string[]): AssessmentRow => {
  if (record.kind !== 'address' || record.status !== 'COMPLETE') return record
  const known = addressOf(record)
  if (known === undefined) return record
  const missing = chainsOfAddress(known.address, enabled).filter((id) => !known.chains.has(id))
  if (missing.length === 0) return record
  return { ...record, next_at: Math.min(record.next_at, record.updated_at + CHAINS_PAUSE_MS) }
}
