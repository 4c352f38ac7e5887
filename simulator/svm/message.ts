import type { Account } from './accounts.ts'
import type { InvokedInstruction, ProgramLogLine } from './execution.ts'
import type { Scenario } from './scenario.ts'

/** Accounts of one look-up table that a message names by their places in it. */
export interface AddressTableLookup {
  readonly table: Account
  readonly writable: readonly number[]
  readonly readonly: readonly number[]
}

/** The account list of a message: static ones, then those looked up, writable before readonly. */
export interface Message {
  readonly version: 'legacy' | 0
  readonly keys: readonly Account[]
  /** Signers, readonly signers, and readonly ones among the other static keys. */
  readonly header: readonly [number, number, number]
  readonly staticCount: number
  readonly loadedWritable: number
  readonly lookups: readonly AddressTableLookup[]
}

const SIGNER_FLAG = 2
const WRITABLE_FLAG = 1
const FLAGS: Readonly<Record<string, number>> = {
  r: 0,
  w: WRITABLE_FLAG,
  s: SIGNER_FLAG,
  S: SIGNER_FLAG | WRITABLE_FLAG,
}

/** True for an instruction, not a log line. */
export const isInvocation = (
  item: InvokedInstruction | ProgramLogLine,
): item is InvokedInstruction => 'program' in item

/** Who takes part, in order of appearance, with its flags; only the transaction's own instructions make signers. */
const collectAccounts = (
  payer: Account,
  trace: readonly (InvokedInstruction | ProgramLogLine)[],
) => {
  const flagsOf = new Map<Account, number>([[payer, SIGNER_FLAG | WRITABLE_FLAG]])
  const pinned = new Set<Account>([payer])
  for (const item of trace) {
    if (!isInvocation(item)) continue
    const mask = item.height === 1 ? SIGNER_FLAG | WRITABLE_FLAG : WRITABLE_FLAG
    item.accounts.forEach((account, at) => {
      const flags = (FLAGS[item.flags[at] ?? 'r'] ?? 0) & mask
      flagsOf.set(account, (flagsOf.get(account) ?? 0) | flags)
    })
    flagsOf.set(item.program, flagsOf.get(item.program) ?? 0)
    if (item.height === 1) pinned.add(item.program)
  }
  return { flagsOf, pinned }
}

const tableLookups = (
  { tables }: Scenario,
  { flagsOf, pinned }: ReturnType<typeof collectAccounts>,
): readonly AddressTableLookup[] => {
  const places = (entries: readonly Account[], written: boolean): readonly number[] =>
    entries.flatMap((account, at) => {
      const flags = flagsOf.get(account)
      if (flags === undefined || pinned.has(account) || (flags & SIGNER_FLAG) !== 0) return []
      return ((flags & WRITABLE_FLAG) !== 0) === written ? [at] : []
    })
  return tables
    .map(({ account, entries }) => ({
      table: account,
      writable: places(entries, true),
      readonly: places(entries, false),
    }))
    .filter(({ writable, readonly }) => writable.length + readonly.length > 0)
}

/** Compiles the account list of what ran; `lookup` puts what it can into look-up tables. */
export const compileMessage = (
  scenario: Scenario,
  {
    payer,
    trace,
  }: { readonly payer: Account; readonly trace: readonly (InvokedInstruction | ProgramLogLine)[] },
  form: 'legacy' | 'v0' | 'lookup',
): Message => {
  const found = collectAccounts(payer, trace)
  const { flagsOf } = found
  const lookups = form === 'lookup' ? tableLookups(scenario, found) : []
  const entry = ({ table }: AddressTableLookup, at: number): Account => {
    const account = scenario.tables.find(({ account }) => account === table)?.entries[at]
    if (account === undefined) throw new RangeError('no such entry in the table')
    return account
  }
  const loadedWritable = lookups.flatMap((one) => one.writable.map((at) => entry(one, at)))
  const loadedReadonly = lookups.flatMap((one) => one.readonly.map((at) => entry(one, at)))
  const loaded = new Set([...loadedWritable, ...loadedReadonly])
  const groups: Account[][] = [[], [], [], []]
  for (const [account, flags] of flagsOf)
    if (!loaded.has(account)) groups[3 - (flags & 3)]?.push(account)
  const [signing = [], readonlySigning = [], writable = [], readonly = []] = groups
  const fixedKeys = [...signing, ...readonlySigning, ...writable, ...readonly]
  return {
    version: form === 'legacy' ? 'legacy' : 0,
    keys: [...fixedKeys, ...loadedWritable, ...loadedReadonly],
    header: [signing.length + readonlySigning.length, readonlySigning.length, readonly.length],
    staticCount: fixedKeys.length,
    loadedWritable: loadedWritable.length,
    lookups,
  }
}
