import { Fields } from './bytes.ts'
import { NEW_CURVE, TOTAL_SUPPLY } from './curve.ts'
import { IDS, RENT } from './ids.ts'
import type { Launch } from './launches.ts'
import { PHASE, setCurve } from './pump.ts'
import { createEvent, emitEvent } from './pump-events.ts'
import type { Call, Run } from './run.ts'
import { endMinting, initializeMint, mintTo, openAccount } from './spl.ts'
import { createAccount, payRent } from './system.ts'

/** Space of the accounts that a launch makes. Source: recorded `create_v2`. */
const SPACE = { mint: 82, mint2022: 234, curve: 151, metadata: 679 } as const
/** Rent of a Token-2022 mint before its metadata is written into it. */
const BARE_MINT_RENT = 2_519_520n

const createCall = ({ machine: { world } }: Run, launch: Launch): Omit<Call, 'units'> => {
  const { mint, curve, vault, creator, metadata, isV2, name, symbol, uri } = launch
  const accounts = isV2
    ? [
        ...[mint.account, IDS.pumpMintAuthority, curve, vault, IDS.pumpGlobal, creator.account],
        ...[IDS.system, IDS.token2022, IDS.ata, IDS.mayhem, IDS.mayhemGlobal, IDS.mayhemVault],
        ...[launch.extra[0] ?? world.router, launch.extra[1] ?? world.router],
        ...[IDS.pumpEvents, IDS.pump],
      ]
    : [
        ...[mint.account, IDS.pumpMintAuthority, curve, vault, IDS.pumpGlobal, IDS.metadata],
        ...[metadata, creator.account, IDS.system, IDS.token, IDS.ata, IDS.rentSysvar],
        ...[IDS.pumpEvents, IDS.pump],
      ]
  return {
    ...{ program: IDS.pump, accounts, name: isV2 ? 'CreateV2' : 'Create' },
    flags: isV2 ? 'SrwwrSrrrwrwwwrr' : 'SrwwrrwSrrrrrr',
    data: () => {
      const data = new Fields().hex(isV2 ? 'd6904cec5f8b31b4' : '181ec828051c0777')
      data.text(name).text(symbol).text(uri).key(creator.account)
      return isV2 ? data.bool(false).bool(false).done() : data.done()
    },
  }
}

/** Makes the mint; a Token-2022 mint holds its metadata itself. */
const makeMint = (run: Run, { mint, creator, isV2 }: Launch): void => {
  const { account, program } = mint
  const rentRaw = isV2 ? BARE_MINT_RENT : RENT.mint
  const space = isV2 ? SPACE.mint2022 : SPACE.mint
  createAccount(run, creator.account, { account, rentRaw, space, owner: program, signs: true })
  if (isV2)
    run.call({
      ...{ program, accounts: [account], flags: 'w', units: 879 },
      data: () => new Fields().u8(39).u8(0).key(IDS.pumpMintAuthority).key(account).done(),
    })
  initializeMint(run, mint, IDS.pumpMintAuthority)
}

/** Metadata in the mint (Token-2022), source: SPL token metadata interface. */
const writeMetadata2022 = (run: Run, { mint, creator, name, symbol, uri }: Launch): void => {
  const { account, program } = mint
  const authority = IDS.pumpMintAuthority
  payRent(run, creator.account, account, RENT.mint2022 - BARE_MINT_RENT)
  const call = { program, accounts: [account, authority, account, authority], flags: 'wrrr' }
  const data = () => new Fields().hex('d2e11ea258b84d8d').text(name).text(symbol).text(uri).done()
  run.call({ ...call, data, units: 3_566 }, () =>
    run.log('Program log: TokenMetadataInstruction: Initialize'),
  )
}

/** Metadata in an account of its own (Metaplex CreateMetadataAccountV3). */
const writeMetadata = (run: Run, { mint, creator, metadata, ...rest }: Launch): void => {
  const authority = IDS.pumpMintAuthority
  const accounts = [metadata, mint.account, authority, creator.account, authority, IDS.system]
  const data = () =>
    new Fields().u8(33).text(rest.name).text(rest.symbol).text(rest.uri).u16(0).u8(0).done()
  const call = { program: IDS.metadata, accounts, flags: 'wrrSrr', data, units: 26_000 }
  run.call({ ...call, name: 'Create Metadata Accounts v3' }, () => {
    const made = { account: metadata, rentRaw: RENT.metadata, space: SPACE.metadata }
    createAccount(run, creator.account, { ...made, owner: IDS.metadata })
    run.machine.state.set(metadata.place, 1n)
  })
}

/** pump.fun `create` or `create_v2`: a mint, its curve, and all its tokens on the curve. */
export const createLaunch = (run: Run, launch: Launch): void => {
  const { machine } = run
  const { state, world, timeSec } = machine
  const { mint, curve, vault, creator, slot, isV2 } = launch
  const authority = IDS.pumpMintAuthority
  run.call({ ...createCall(run, launch), units: 60_000 }, () => {
    makeMint(run, launch)
    const made = { account: curve, rentRaw: RENT.curve, space: SPACE.curve, owner: IDS.pump }
    createAccount(run, creator.account, made)
    state.set(curve.place, RENT.curve)
    openAccount(run, vault, { payer: creator.account, strict: true })
    if (isV2) writeMetadata2022(run, launch)
    else writeMetadata(run, launch)
    mintTo(run, mint, { to: vault, authority, amount: TOTAL_SUPPLY })
    endMinting(run, mint, authority)
    setCurve(machine, launch, NEW_CURVE)
    state.set(world.layout.launch(slot, 'phase'), PHASE.curve)
    const facts = { launch, user: creator, timeSec, world }
    emitEvent(run, { program: IDS.pump, authority: IDS.pumpEvents }, () => createEvent(facts))
  })
}
