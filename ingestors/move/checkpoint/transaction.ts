import type { MoveCall } from '../../../schemas/events.ts'
import type { BcsReader } from './reader.ts'

/** What counts of a signed transaction. */
export interface TransactionData {
  readonly sender: string
  readonly gasOwner: string
  readonly budgetRaw: bigint | null
  readonly priceRaw: bigint | null
  readonly calls: readonly MoveCall[]
  /** What its digest is made of. */
  readonly signed: Uint8Array
}

const NO_CALLS: readonly MoveCall[] = []

const NO_DATA: TransactionData = {
  sender: '',
  gasOwner: '',
  budgetRaw: null,
  priceRaw: null,
  calls: NO_CALLS,
  signed: new Uint8Array(),
}

/** A `SenderSignedData`. Sources: MystenLabs/sui sui-types transaction.rs, messages_consensus.rs. Throws as the reader. */
export const readSenderSignedData = (read: BcsReader): TransactionData => {
  const [first] = read.list(() => {
    read.bytes(3) // intent: scope, version, application
    const reported = readTransactionData(read)
    read.list(read.byteVector)
    return reported
  })
  return first ?? NO_DATA
}

/** A `TransactionData`, what is signed. Throws as the reader. */
export const readTransactionData = (read: BcsReader): TransactionData => {
  const from = read.offset()
  const reported = read.variant('transaction data', [() => readTransactionDataV1(read)])
  return { ...reported, signed: read.since(from) }
}

const readTransactionDataV1 = (read: BcsReader): Omit<TransactionData, 'signed'> => {
  const calls = read.variant('transaction', transactionKinds(read))
  const sender = read.id()
  read.list(() => readObjectRef(read))
  const gasOwner = read.id()
  const [priceRaw, budgetRaw] = [read.u64(), read.u64()]
  read.variant('expiration', [
    () => undefined,
    () => read.skip(read.u64),
    () => skipValidDuring(read),
    () => skipValidity(read),
  ])
  return { sender, gasOwner, budgetRaw, priceRaw, calls }
}

const skipValidDuring = (read: BcsReader): void => {
  for (let bound = 0; bound < 4; bound += 1) read.option(read.u64)
  read.digest()
  read.u32()
}

const skipValidity = (read: BcsReader): void => {
  skipValidDuring(read)
  read.option(() => read.skip(read.u64, () => read.list(read.u32)))
}

/** An object as it was at one time. */
export interface ObjectVersion {
  readonly id: string
  readonly version: bigint
}

/** Id, version and digest of an object. */
export const readObjectRef = (read: BcsReader): ObjectVersion => {
  const id = read.id()
  const version = read.u64()
  read.digest()
  return { id, version }
}

/** Kinds of transactions in the order of their numbers; only programs call. */
const transactionKinds = (read: BcsReader): readonly (() => readonly MoveCall[])[] => {
  const none = (skip: () => void) => (): readonly MoveCall[] => {
    skip()
    return NO_CALLS
  }
  return [
    () => readProgrammableTransaction(read),
    none(() => skipChangeEpoch(read)),
    none(() => rejectVariant(read, 'genesis')),
    none(() => skipConsensusCommitPrologue(read, 1)),
    none(() => skipAuthenticatorStateUpdate(read)),
    none(() => skipEndOfEpoch(read)),
    none(() => skipRandomnessStateUpdate(read)),
    none(() => skipConsensusCommitPrologue(read, 2)),
    none(() => skipConsensusCommitPrologue(read, 3)),
    none(() => skipConsensusCommitPrologue(read, 4)),
    () => readProgrammableTransaction(read),
  ]
}

/** No checkpoint but the first holds one, and there is no trade in that. */
const rejectVariant = (read: BcsReader, at: string): void => read.variant(at, [])

const skipChangeEpoch = (read: BcsReader): void => {
  for (let field = 0; field < 7; field += 1) read.u64()
  read.list(() => {
    read.u64()
    read.list(read.byteVector)
    read.list(read.id)
  })
}

const skipConsensusCommitPrologue = (read: BcsReader, version: 1 | 2 | 3 | 4): void => {
  read.u64() // epoch
  read.u64() // round
  if (version >= 3) read.option(read.u64)
  read.u64() // time
  if (version >= 2) read.digest()
  if (version >= 3) {
    const canceled = (key: () => void) => (): void =>
      void read.list(() => {
        read.digest()
        read.list(() => {
          key()
          read.u64()
        })
      })
    read.variant('assignments', [
      canceled(() => void read.id()),
      canceled(() => {
        read.id()
        read.u64()
      }),
    ])
  }
  if (version >= 4) read.digest()
}

const skipAuthenticatorStateUpdate = (read: BcsReader): void => {
  read.u64()
  read.u64()
  read.list(() => {
    for (let text = 0; text < 6; text += 1) read.text()
    read.u64()
  })
  read.u64()
}

const skipRandomnessStateUpdate = (read: BcsReader): void => {
  read.u64()
  read.u64()
  read.byteVector()
  read.u64()
}

/** Steps that end an epoch; those that newer nodes added are not read. */
const skipEndOfEpoch = (read: BcsReader): void =>
  void read.list(() =>
    read.variant('end of epoch', [
      () => skipChangeEpoch(read),
      () => undefined,
      () => {
        for (let field = 0; field < 3; field += 1) read.u64()
      },
      () => undefined,
      () => undefined,
      () => void read.digest(),
      () => void read.u64(),
    ]),
  )

/** Calls of a program, with the objects that are inputs of theirs. */
const readProgrammableTransaction = (read: BcsReader): readonly MoveCall[] => {
  const none = (skip: () => unknown) => (): null => {
    skip()
    return null
  }
  const inputs = read.list(() =>
    read.variant<string | null>('input', [
      none(read.byteVector),
      () =>
        read.variant('object', [
          () => readObjectRef(read).id,
          () => readSharedObject(read),
          () => readObjectRef(read).id,
        ]),
      none(() => skipFundsWithdrawal(read)),
    ]),
  )
  const argument = (): string | null =>
    read.variant('argument', [
      () => null,
      () => inputs[read.u16()] ?? null,
      none(read.u16),
      none(() => read.skip(read.u16, read.u16)),
    ])
  /** Modules of a package and what they depend on. */
  const parts = (): void => {
    read.list(read.byteVector)
    read.list(read.id)
  }
  const commands = read.list(() =>
    read.variant<MoveCall | null>('command', [
      () => {
        read.id()
        read.text()
        read.text()
        const typeArguments = read.list(read.typeTag)
        const objects = read.list(argument).filter((id) => id !== null)
        return { typeArguments, objects }
      },
      none(() => read.skip(() => read.list(argument), argument)),
      none(() => read.skip(argument, () => read.list(argument))),
      none(() => read.skip(argument, () => read.list(argument))),
      none(parts),
      none(() =>
        read.skip(
          () => read.option(read.typeTag),
          () => read.list(argument),
        ),
      ),
      none(() => read.skip(parts, read.id, argument)),
    ]),
  )
  return commands.filter((call) => call !== null)
}

/** How much may be taken of which balance, and whose. */
const skipFundsWithdrawal = (read: BcsReader): void => {
  read.variant('reservation', [read.u64])
  read.variant('funds', [read.typeTag])
  read.variant('funder', [() => undefined, () => undefined, () => read.skip(read.id, read.id)])
}

const readSharedObject = (read: BcsReader): string => {
  const id = read.id()
  read.u64()
  read.u8() // mutability
  return id
}
