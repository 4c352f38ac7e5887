import { PROTOCOLS } from '../../../schemas/protocols.ts'
import { OPENBOOK } from './openbook.ts'
import { PHOENIX } from './phoenix.ts'
import { PROGRAM_IDS } from './programs.ts'

/** Names of programs that are met most and are not exchanges. Sources: solana-program documentation, Metaplex, Jupiter. */
const COMMON_PROGRAM_NAMES: Readonly<Record<string, string>> = {
  [PROGRAM_IDS.system]: 'System Program',
  [PROGRAM_IDS.token]: 'Token Program',
  [PROGRAM_IDS.token2022]: 'Token 2022 Program',
  [PROGRAM_IDS.metadata]: 'Token Metadata',
  ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL: 'Associated Token Account Program',
  ComputeBudget111111111111111111111111111111: 'Compute Budget',
  Stake11111111111111111111111111111111111111: 'Stake Program',
  MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: 'Memo Program',
  JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4: 'Jupiter Aggregator v6',
  [PHOENIX]: 'Phoenix',
  [OPENBOOK]: 'OpenBook V2',
}

const PROGRAM_NAMES: ReadonlyMap<string, string> = new Map([
  ...PROTOCOLS.flatMap(({ name, factories }) => {
    const listed: Readonly<Record<string, readonly string[] | undefined>> = factories
    return (listed.sol ?? []).map((program) => [program, name] as const)
  }),
  ...Object.entries(COMMON_PROGRAM_NAMES),
])

/** Instructions of the token programs by their first byte. Source: solana-program/token instruction.rs. */
const TOKEN_METHODS = [
  ...['initializeMint', 'initializeAccount', 'initializeMultisig', 'transfer', 'approve', 'revoke'],
  ...['setAuthority', 'mintTo', 'burn', 'closeAccount', 'freezeAccount', 'thawAccount'],
  ...['transferChecked', 'approveChecked', 'mintToChecked', 'burnChecked', 'initializeAccount2'],
  ...['syncNative', 'initializeAccount3', 'initializeMultisig2', 'initializeMint2'],
  ...['getAccountDataSize', 'initializeImmutableOwner', 'amountToUiAmount', 'uiAmountToAmount'],
] as const

/** Instructions of the system program by their first four bytes. Source: solana-sdk system_instruction.rs. */
const SYSTEM_METHODS = [
  ...['createAccount', 'assign', 'transfer', 'createAccountWithSeed', 'advanceNonceAccount'],
  ...['withdrawNonceAccount', 'initializeNonceAccount', 'authorizeNonceAccount', 'allocate'],
  ...['allocateWithSeed', 'assignWithSeed', 'transferWithSeed', 'upgradeNonceAccount'],
] as const

/** Name of a program; null where it is not listed. */
export const programName = (program: string): string | null => PROGRAM_NAMES.get(program) ?? null

/** Name of what an instruction asks its program for; null where it is not known. */
export const methodName = (program: string, data: Uint8Array | null): string | null => {
  const [first, ...rest] = data?.subarray(0, 4) ?? []
  if (first === undefined) return null
  if (program === PROGRAM_IDS.token || program === PROGRAM_IDS.token2022)
    return TOKEN_METHODS[first] ?? null
  const isShort = rest.length === 3 && rest.every((byte) => byte === 0)
  return program === PROGRAM_IDS.system && isShort ? (SYSTEM_METHODS[first] ?? null) : null
}
