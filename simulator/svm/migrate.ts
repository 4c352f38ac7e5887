import { integerSqrt } from '../../core/bigint-math.ts'
import { MIGRATED_TOKENS, MIGRATION_FEE } from './amm-math.ts'
import { BorshWriter } from './borsh-writer.ts'
import type { TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS, RENT } from './known-accounts.ts'
import type { Launch } from './launches.ts'
import { LAUNCH_PHASE } from './pump-fun.ts'
import { emitEvent, migrationEvent } from './pump-fun-events.ts'
import { createPoolEvent, LOCKED_LP_TOKENS } from './pumpswap-events.ts'
import type { Wallet } from './scenario.ts'
import {
  burn,
  closeAccount,
  createAssociatedTokenAccount,
  currentTokenBalance,
  initializeMint,
  mintTo,
  syncNative,
  transferChecked,
} from './spl-token.ts'
import { createAccount, moveLamports, transferLamports } from './system-program.ts'

const SPACE = { pool: 245, mint: 82 } as const

/** PumpSwap `create_pool`, as the migration calls it. */
const createPumpSwapPool = (run: TransactionExecution, launch: Launch, quote: bigint): void => {
  const { authority, authorityBase, authorityQuote, authorityLp, lpMint, pool, mint } = launch
  const { state, timeSec } = run.context
  const accounts = [
    ...[
      pool,
      KNOWN_ACCOUNTS.ammConfig,
      authority,
      mint.account,
      KNOWN_ACCOUNTS.wsol,
      lpMint.account,
    ],
    ...[authorityBase, authorityQuote, authorityLp, launch.poolBase, launch.poolQuote],
    ...[
      KNOWN_ACCOUNTS.system,
      KNOWN_ACCOUNTS.token2022,
      mint.program,
      KNOWN_ACCOUNTS.token,
      KNOWN_ACCOUNTS.ata,
      KNOWN_ACCOUNTS.ammEvents,
      KNOWN_ACCOUNTS.amm,
    ],
  ]
  const shares = integerSqrt(MIGRATED_TOKENS * quote)
  const data = () => {
    const fields = new BorshWriter().hex('e992d18ecf6840bc').u16(0).u64(MIGRATED_TOKENS).u64(quote)
    return fields.pubkey(launch.creator.account).bool(false).toBytes()
  }
  const call = {
    program: KNOWN_ACCOUNTS.amm,
    accounts,
    flags: 'wrSrrwwwwwwrrrrrrr',
    data,
    units: 46_000,
  }
  run.invoke({ ...call, name: 'CreatePool' }, () => {
    const owner = KNOWN_ACCOUNTS.amm
    createAccount(run, authority, { account: pool, rentRaw: RENT.pool, space: SPACE.pool, owner })
    state.set(pool.stateIndex, 1n)
    const made = { account: lpMint.account, rentRaw: RENT.mint, space: SPACE.mint }
    createAccount(run, authority, { ...made, owner: KNOWN_ACCOUNTS.token2022 })
    initializeMint(run, lpMint, pool)
    createAssociatedTokenAccount(run, authorityLp, { payer: authority, strict: true })
    const base = { from: authorityBase, to: launch.poolBase, authority, amount: MIGRATED_TOKENS }
    transferChecked(run, base)
    transferChecked(run, { from: authorityQuote, to: launch.poolQuote, authority, amount: quote })
    mintTo(run, lpMint, { to: authorityLp, authority: pool, amount: shares - LOCKED_LP_TOKENS })
    const event = { base: MIGRATED_TOKENS, quote, shares }
    emitEvent(run, { program: KNOWN_ACCOUNTS.amm, authority: KNOWN_ACCOUNTS.ammEvents }, () =>
      createPoolEvent(launch, { timeSec }, event),
    )
  })
}

/** The migration's own accounts are emptied and closed; its shares are burnt, what is left goes to the program's own account. */
const closeMigrationAccounts = (run: TransactionExecution, launch: Launch): void => {
  const { authority, authorityBase, authorityQuote, authorityLp } = launch
  const { withdrawAuthority } = run.context.scenario
  closeAccount(run, authorityBase, withdrawAuthority)
  closeAccount(run, authorityQuote, withdrawAuthority)
  burn(run, authorityLp, authority, currentTokenBalance(run, authorityLp))
  closeAccount(run, authorityLp, withdrawAuthority)
  transferLamports(run, authority, withdrawAuthority, run.context.state.get(authority.stateIndex))
}

/** pump.fun `migrate`: a complete curve becomes a PumpSwap pool. Source: recorded `migrate_pumpfun_1`. */
export const migrateLaunch = (run: TransactionExecution, launch: Launch, user: Wallet): void => {
  const { context } = run
  const { state, scenario, timeSec } = context
  const { authority, authorityBase, authorityQuote, curve, vault, mint, pool, slot } = launch
  const accounts = [
    ...[
      KNOWN_ACCOUNTS.pumpGlobal,
      scenario.withdrawAuthority,
      mint.account,
      curve,
      vault,
      user.account,
    ],
    ...[
      KNOWN_ACCOUNTS.system,
      mint.program,
      KNOWN_ACCOUNTS.amm,
      pool,
      authority,
      authorityBase,
      authorityQuote,
    ],
    ...[KNOWN_ACCOUNTS.ammConfig, KNOWN_ACCOUNTS.wsol, launch.lpMint.account, launch.authorityLp],
    ...[
      launch.poolBase,
      launch.poolQuote,
      KNOWN_ACCOUNTS.token2022,
      KNOWN_ACCOUNTS.ata,
      KNOWN_ACCOUNTS.ammEvents,
    ],
    ...[KNOWN_ACCOUNTS.pumpEvents, KNOWN_ACCOUNTS.pump, KNOWN_ACCOUNTS.rentSysvar],
  ]
  const flags = 'rwrwwSrrrwwwwrrwwwwrrrrrr'
  const data = () => new BorshWriter().hex('9beae792ec9ea21e').toBytes()
  run.invoke(
    { program: KNOWN_ACCOUNTS.pump, accounts, flags, data, units: 48_000, name: 'Migrate' },
    () => {
      const quote = state.get(curve.stateIndex) - RENT.curve - MIGRATION_FEE
      moveLamports(run, curve, authority, MIGRATION_FEE)
      const payer = authority
      for (const account of [launch.poolBase, launch.poolQuote, authorityBase, authorityQuote])
        createAssociatedTokenAccount(run, account, { payer })
      transferChecked(run, {
        from: vault,
        to: authorityBase,
        authority: curve,
        amount: MIGRATED_TOKENS,
      })
      moveLamports(run, curve, authorityQuote, quote)
      syncNative(run, authorityQuote)
      createPumpSwapPool(run, launch, quote)
      closeMigrationAccounts(run, launch)
      state.set(scenario.layout.launch(slot, 'phase'), LAUNCH_PHASE.pool)
      const moved = { tokens: MIGRATED_TOKENS, sol: quote, fee: MIGRATION_FEE }
      const facts = { launch, user, timeSec, scenario }
      emitEvent(run, { program: KNOWN_ACCOUNTS.pump, authority: KNOWN_ACCOUNTS.pumpEvents }, () =>
        migrationEvent(facts, moved),
      )
    },
  )
}
