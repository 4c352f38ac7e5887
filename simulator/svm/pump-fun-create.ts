import { NEW_CURVE, TOTAL_SUPPLY } from './amm-math.ts'
import { BorshWriter } from './borsh-writer.ts'
import type { InstructionCall, TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS, RENT } from './known-accounts.ts'
import type { Launch } from './launches.ts'
import { LAUNCH_PHASE, writeCurve } from './pump-fun.ts'
import { createEvent, emitEvent } from './pump-fun-events.ts'
import {
  createAssociatedTokenAccount,
  initializeMint,
  mintTo,
  revokeMintAuthority,
} from './spl-token.ts'
import { createAccount, topUpRent } from './system-program.ts'

/** Space of the accounts that a launch makes. Source: recorded `create_v2`. */
const ACCOUNT_SPACE = { mint: 82, mint2022: 234, curve: 151, metadata: 679 } as const
/** Rent of a Token-2022 mint before its metadata is written into it. */
const BARE_MINT_RENT = 2_519_520n

const createInstruction = (
  { context: { scenario } }: TransactionExecution,
  launch: Launch,
): Omit<InstructionCall, 'units'> => {
  const { mint, curve, vault, creator, metadata, isToken2022, name, symbol, uri } = launch
  const accounts = isToken2022
    ? [
        ...[
          mint.account,
          KNOWN_ACCOUNTS.pumpMintAuthority,
          curve,
          vault,
          KNOWN_ACCOUNTS.pumpGlobal,
          creator.account,
        ],
        ...[
          KNOWN_ACCOUNTS.system,
          KNOWN_ACCOUNTS.token2022,
          KNOWN_ACCOUNTS.ata,
          KNOWN_ACCOUNTS.mayhem,
          KNOWN_ACCOUNTS.mayhemGlobal,
          KNOWN_ACCOUNTS.mayhemVault,
        ],
        ...[launch.extraAccounts[0] ?? scenario.router, launch.extraAccounts[1] ?? scenario.router],
        ...[KNOWN_ACCOUNTS.pumpEvents, KNOWN_ACCOUNTS.pump],
      ]
    : [
        ...[
          mint.account,
          KNOWN_ACCOUNTS.pumpMintAuthority,
          curve,
          vault,
          KNOWN_ACCOUNTS.pumpGlobal,
          KNOWN_ACCOUNTS.metadata,
        ],
        ...[
          metadata,
          creator.account,
          KNOWN_ACCOUNTS.system,
          KNOWN_ACCOUNTS.token,
          KNOWN_ACCOUNTS.ata,
          KNOWN_ACCOUNTS.rentSysvar,
        ],
        ...[KNOWN_ACCOUNTS.pumpEvents, KNOWN_ACCOUNTS.pump],
      ]
  return {
    program: KNOWN_ACCOUNTS.pump,
    accounts,
    name: isToken2022 ? 'CreateV2' : 'Create',
    flags: isToken2022 ? 'SrwwrSrrrwrwwwrr' : 'SrwwrrwSrrrrrr',
    data: () => {
      const data = new BorshWriter().hex(isToken2022 ? 'd6904cec5f8b31b4' : '181ec828051c0777')
      data.text(name).text(symbol).text(uri).pubkey(creator.account)
      return isToken2022 ? data.bool(false).bool(false).toBytes() : data.toBytes()
    },
  }
}

/** Makes the mint; a Token-2022 mint holds its metadata itself. */
const createMint = (run: TransactionExecution, { mint, creator, isToken2022 }: Launch): void => {
  const { account, program } = mint
  const rentRaw = isToken2022 ? BARE_MINT_RENT : RENT.mint
  const space = isToken2022 ? ACCOUNT_SPACE.mint2022 : ACCOUNT_SPACE.mint
  createAccount(run, creator.account, { account, rentRaw, space, owner: program, signs: true })
  if (isToken2022)
    run.invoke({
      program,
      accounts: [account],
      flags: 'w',
      units: 879,
      data: () =>
        new BorshWriter()
          .u8(39)
          .u8(0)
          .pubkey(KNOWN_ACCOUNTS.pumpMintAuthority)
          .pubkey(account)
          .toBytes(),
    })
  initializeMint(run, mint, KNOWN_ACCOUNTS.pumpMintAuthority)
}

/** Metadata in the mint (Token-2022), source: SPL token metadata interface. */
const writeMetadata2022 = (
  run: TransactionExecution,
  { mint, creator, name, symbol, uri }: Launch,
): void => {
  const { account, program } = mint
  const authority = KNOWN_ACCOUNTS.pumpMintAuthority
  topUpRent(run, creator.account, account, RENT.mint2022 - BARE_MINT_RENT)
  const call = { program, accounts: [account, authority, account, authority], flags: 'wrrr' }
  const data = () =>
    new BorshWriter().hex('d2e11ea258b84d8d').text(name).text(symbol).text(uri).toBytes()
  run.invoke({ ...call, data, units: 3_566 }, () =>
    run.log('Program log: TokenMetadataInstruction: Initialize'),
  )
}

/** Metadata in an account of its own (Metaplex CreateMetadataAccountV3). */
const writeMetadata = (
  run: TransactionExecution,
  { mint, creator, metadata, ...rest }: Launch,
): void => {
  const authority = KNOWN_ACCOUNTS.pumpMintAuthority
  const accounts = [
    metadata,
    mint.account,
    authority,
    creator.account,
    authority,
    KNOWN_ACCOUNTS.system,
  ]
  const data = () =>
    new BorshWriter().u8(33).text(rest.name).text(rest.symbol).text(rest.uri).u16(0).u8(0).toBytes()
  const call = { program: KNOWN_ACCOUNTS.metadata, accounts, flags: 'wrrSrr', data, units: 26_000 }
  run.invoke({ ...call, name: 'Create Metadata Accounts v3' }, () => {
    const made = { account: metadata, rentRaw: RENT.metadata, space: ACCOUNT_SPACE.metadata }
    createAccount(run, creator.account, { ...made, owner: KNOWN_ACCOUNTS.metadata })
    run.context.state.set(metadata.stateIndex, 1n)
  })
}

/** pump.fun `create` or `create_v2`: a mint, its curve, and all its tokens on the curve. */
export const createPumpFunToken = (run: TransactionExecution, launch: Launch): void => {
  const { context } = run
  const { state, scenario, timeSec } = context
  const { mint, curve, vault, creator, slot, isToken2022 } = launch
  const authority = KNOWN_ACCOUNTS.pumpMintAuthority
  run.invoke({ ...createInstruction(run, launch), units: 60_000 }, () => {
    createMint(run, launch)
    const made = {
      account: curve,
      rentRaw: RENT.curve,
      space: ACCOUNT_SPACE.curve,
      owner: KNOWN_ACCOUNTS.pump,
    }
    createAccount(run, creator.account, made)
    state.set(curve.stateIndex, RENT.curve)
    createAssociatedTokenAccount(run, vault, { payer: creator.account, strict: true })
    if (isToken2022) writeMetadata2022(run, launch)
    else writeMetadata(run, launch)
    mintTo(run, mint, { to: vault, authority, amount: TOTAL_SUPPLY })
    revokeMintAuthority(run, mint, authority)
    writeCurve(context, launch, NEW_CURVE)
    state.set(scenario.layout.launch(slot, 'phase'), LAUNCH_PHASE.curve)
    const facts = { launch, user: creator, timeSec, scenario }
    emitEvent(run, { program: KNOWN_ACCOUNTS.pump, authority: KNOWN_ACCOUNTS.pumpEvents }, () =>
      createEvent(facts),
    )
  })
}
