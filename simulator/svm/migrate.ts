import { sqrtOf } from '../../core/bigint-math.ts'
import { createPoolEvent, LOCKED_SHARES } from './amm-events.ts'
import { Fields } from './bytes.ts'
import { AMM_TOKENS, MIGRATION_FEE } from './curve.ts'
import { IDS, RENT } from './ids.ts'
import type { Launch } from './launches.ts'
import { PHASE } from './pump.ts'
import { emitEvent, migrationEvent } from './pump-events.ts'
import type { Run } from './run.ts'
import {
  burn,
  closeAccount,
  initializeMint,
  mintTo,
  openAccount,
  syncNative,
  tokensNow,
  transferChecked,
} from './spl.ts'
import { createAccount, moveLamports, sendLamports } from './system.ts'
import type { Wallet } from './world.ts'

const SPACE = { pool: 245, mint: 82 } as const

/** PumpSwap `create_pool`, as the migration calls it. */
const createPool = (run: Run, launch: Launch, quote: bigint): void => {
  const { authority, authorityBase, authorityQuote, authorityLp, lpMint, pool, mint } = launch
  const { state, timeSec } = run.machine
  const accounts = [
    ...[pool, IDS.ammConfig, authority, mint.account, IDS.wsol, lpMint.account],
    ...[authorityBase, authorityQuote, authorityLp, launch.poolBase, launch.poolQuote],
    ...[IDS.system, IDS.token2022, mint.program, IDS.token, IDS.ata, IDS.ammEvents, IDS.amm],
  ]
  const shares = sqrtOf(AMM_TOKENS * quote)
  const data = () => {
    const fields = new Fields().hex('e992d18ecf6840bc').u16(0).u64(AMM_TOKENS).u64(quote)
    return fields.key(launch.creator.account).bool(false).done()
  }
  const call = { program: IDS.amm, accounts, flags: 'wrSrrwwwwwwrrrrrrr', data, units: 46_000 }
  run.call({ ...call, name: 'CreatePool' }, () => {
    const owner = IDS.amm
    createAccount(run, authority, { account: pool, rentRaw: RENT.pool, space: SPACE.pool, owner })
    state.set(pool.place, 1n)
    const made = { account: lpMint.account, rentRaw: RENT.mint, space: SPACE.mint }
    createAccount(run, authority, { ...made, owner: IDS.token2022 })
    initializeMint(run, lpMint, pool)
    openAccount(run, authorityLp, { payer: authority, strict: true })
    const base = { from: authorityBase, to: launch.poolBase, authority, amount: AMM_TOKENS }
    transferChecked(run, base)
    transferChecked(run, { from: authorityQuote, to: launch.poolQuote, authority, amount: quote })
    mintTo(run, lpMint, { to: authorityLp, authority: pool, amount: shares - LOCKED_SHARES })
    const event = { base: AMM_TOKENS, quote, shares }
    emitEvent(run, { program: IDS.amm, authority: IDS.ammEvents }, () =>
      createPoolEvent(launch, { timeSec }, event),
    )
  })
}

/** The migration's own accounts are emptied and closed; its shares are burnt, what is left goes to the house. */
const cleanUp = (run: Run, launch: Launch): void => {
  const { authority, authorityBase, authorityQuote, authorityLp } = launch
  const { withdrawAuthority } = run.machine.world
  closeAccount(run, authorityBase, withdrawAuthority)
  closeAccount(run, authorityQuote, withdrawAuthority)
  burn(run, authorityLp, authority, tokensNow(run, authorityLp))
  closeAccount(run, authorityLp, withdrawAuthority)
  sendLamports(run, authority, withdrawAuthority, run.machine.state.get(authority.place))
}

/** pump.fun `migrate`: a complete curve becomes a PumpSwap pool. Source: recorded `migrate_pumpfun_1`. */
export const migrate = (run: Run, launch: Launch, user: Wallet): void => {
  const { machine } = run
  const { state, world, timeSec } = machine
  const { authority, authorityBase, authorityQuote, curve, vault, mint, pool, slot } = launch
  const accounts = [
    ...[IDS.pumpGlobal, world.withdrawAuthority, mint.account, curve, vault, user.account],
    ...[IDS.system, mint.program, IDS.amm, pool, authority, authorityBase, authorityQuote],
    ...[IDS.ammConfig, IDS.wsol, launch.lpMint.account, launch.authorityLp],
    ...[launch.poolBase, launch.poolQuote, IDS.token2022, IDS.ata, IDS.ammEvents],
    ...[IDS.pumpEvents, IDS.pump, IDS.rentSysvar],
  ]
  const flags = 'rwrwwSrrrwwwwrrwwwwrrrrrr'
  const data = () => new Fields().hex('9beae792ec9ea21e').done()
  run.call({ program: IDS.pump, accounts, flags, data, units: 48_000, name: 'Migrate' }, () => {
    const quote = state.get(curve.place) - RENT.curve - MIGRATION_FEE
    moveLamports(run, curve, authority, MIGRATION_FEE)
    const payer = authority
    for (const account of [launch.poolBase, launch.poolQuote, authorityBase, authorityQuote])
      openAccount(run, account, { payer })
    transferChecked(run, { from: vault, to: authorityBase, authority: curve, amount: AMM_TOKENS })
    moveLamports(run, curve, authorityQuote, quote)
    syncNative(run, authorityQuote)
    createPool(run, launch, quote)
    cleanUp(run, launch)
    state.set(world.layout.launch(slot, 'phase'), PHASE.pool)
    const moved = { tokens: AMM_TOKENS, sol: quote, fee: MIGRATION_FEE }
    const facts = { launch, user, timeSec, world }
    emitEvent(run, { program: IDS.pump, authority: IDS.pumpEvents }, () =>
      migrationEvent(facts, moved),
    )
  })
}
