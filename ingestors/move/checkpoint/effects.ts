import { normalizeCoinType } from '../../../core/move-type.ts'
import type { MoveBalanceChange } from '../../../schemas/events.ts'
import type { BcsReader } from './reader.ts'
import { type ObjectVersion, readObjectRef } from './transaction.ts'

/** What became of an object, or of the balance that an address keeps without one. */
export interface ObjectChange {
  readonly id: string
  readonly change: 'created' | 'changed' | 'published' | 'gone'
  readonly delta?: MoveBalanceChange
}

/** What counts of the effects of a transaction. */
export interface TransactionEffects {
  readonly success: boolean
  /** Computation and storage without the rebate. */
  readonly feeRaw: bigint
  readonly computationRaw: bigint
  readonly changes: readonly ObjectChange[]
  /** Objects that were changed or went away, as they were before. */
  readonly before: readonly ObjectVersion[]
  /** Objects that were written, as they are since. */
  readonly after: readonly ObjectVersion[]
}

/** A `TransactionEffects`. Sources: MystenLabs/sui sui-types effects/, execution_status.rs. Throws as the reader. */
export const readEffects = (read: BcsReader): TransactionEffects =>
  read.variant('effects', [() => readEffectsV1(read), () => readEffectsV2(read)])

/** Computation, storage, rebate; of the rebate a part is kept, which is not a fee. */
const readGasFee = (read: BcsReader): Pick<TransactionEffects, 'feeRaw' | 'computationRaw'> => {
  const [computation, storage, rebate] = [read.u64(), read.u64(), read.u64()]
  read.u64()
  return { feeRaw: computation + storage - rebate, computationRaw: computation }
}

/** Who owns an object: the address, where an address does. */
export const readOwner = (read: BcsReader): string | null =>
  read.variant<string | null>('owner', [
    () => read.id(),
    () => skipAsNull(read.id),
    () => skipAsNull(read.u64),
    () => null,
    () => {
      read.u64()
      return read.id()
    },
  ])

const skipAsNull = (skip: () => unknown): null => {
  skip()
  return null
}

const readEffectsV1 = (read: BcsReader): TransactionEffects => {
  const success = readStatus(read)
  read.u64()
  const fee = readGasFee(read)
  const before = read.list(() => ({ id: read.id(), version: read.u64() }))
  read.list(() => readObjectRef(read))
  read.digest()
  const after: ObjectVersion[] = []
  const owned = (change: ObjectChange['change']) =>
    read.list((): ObjectChange => {
      const written = readObjectRef(read)
      readOwner(read)
      after.push(written)
      return { id: written.id, change }
    })
  const changes = [...owned('created'), ...owned('changed'), ...owned('changed')]
  for (let gone = 0; gone < 3; gone += 1) read.list(() => readObjectRef(read))
  readObjectRef(read)
  readOwner(read)
  read.option(read.digest)
  read.list(read.digest)
  return { success, ...fee, changes, before, after }
}

const readEffectsV2 = (read: BcsReader): TransactionEffects => {
  const success = readStatus(read)
  read.u64()
  const fee = readGasFee(read)
  read.digest()
  read.option(read.u32)
  read.option(read.digest)
  read.list(read.digest)
  const states: ObjectVersions = { version: read.u64(), before: [], after: [] }
  const changes = read.list(() => readObjectChange(read, states))
  read.list(() => {
    read.id()
    const version = () => read.skip(read.u64)
    const root = () => read.skip(read.u64, read.digest)
    read.variant('unchanged object', [root, version, version, version, () => undefined])
  })
  read.option(read.digest)
  const { before, after } = states
  return { success, ...fee, changes, before, after }
}

/** Objects as changes name them, and the version that all but packages are written with. */
interface ObjectVersions {
  readonly version: bigint
  readonly before: ObjectVersion[]
  readonly after: ObjectVersion[]
}

const readObjectChange = (
  read: BcsReader,
  { version, before, after }: ObjectVersions,
): ObjectChange => {
  const id = read.id()
  read.variant('input state', [
    () => undefined,
    () => {
      before.push({ id, version: read.u64() })
      read.skip(read.digest, () => readOwner(read))
    },
  ])
  let delta: MoveBalanceChange | null = null
  const written = read.variant<ObjectChange['change']>('output state', [
    () => 'gone',
    () => {
      read.skip(read.digest, () => readOwner(read))
      after.push({ id, version })
      return 'changed'
    },
    () => {
      after.push({ id, version: read.u64() })
      read.digest()
      return 'published'
    },
    () => {
      delta = readBalanceWrite(read)
      return 'gone'
    },
  ])
  const isNew = read.variant('operation', [() => false, () => true, () => false])
  if (delta !== null) return { id, change: 'gone', delta }
  if (written === 'published') return { id, change: isNew ? 'published' : 'gone' }
  return { id, change: written === 'changed' && isNew ? 'created' : written }
}

const BALANCE_TYPE_PREFIX = `0x${'2'.padStart(64, '0')}::balance::Balance<`

/** What an address's own balance gained or lost; null for what is not a balance of a coin. */
const readBalanceWrite = (read: BcsReader): MoveBalanceChange | null => {
  const owner = read.id()
  const type = read.typeTag()
  const sign = read.variant('accumulator operation', [() => 1n, () => -1n])
  const amountRaw = read.variant<bigint | null>('accumulator value', [
    read.u64,
    () => skipAsNull(() => read.skip(read.u64, read.u64)),
    () => skipAsNull(() => read.list(() => read.skip(read.u64, read.digest))),
  ])
  const coin = type.startsWith(BALANCE_TYPE_PREFIX)
    ? normalizeCoinType(type.slice(BALANCE_TYPE_PREFIX.length, -1))
    : undefined
  return coin === undefined || amountRaw === null
    ? null
    : { owner, coin, deltaRaw: sign * amountRaw }
}

/** True for success; a failure's reason is passed over. */
const readStatus = (read: BcsReader): boolean =>
  read.variant('status', [
    () => true,
    () => {
      read.variant('failure', failureVariants(read))
      read.option(read.u64)
      return false
    },
  ])

/** Failures in the order of their numbers, with what stands behind each. */
const failureVariants = (read: BcsReader): readonly (() => void)[] => {
  const plain = (): void => undefined
  const plains = (count: number) => Array.from({ length: count }, () => plain)
  const sizes = (): void => read.skip(read.u64, read.u64)
  const one = (): void => read.skip(read.id)
  const skipEntries = (count: number) => (): void => {
    for (let place = 0; place < count; place += 1) read.u16()
  }
  const location = (): void => {
    read.id()
    read.text()
    skipEntries(2)()
    read.option(read.text)
  }
  const argument = (): void => {
    read.u16()
    read.variant('argument error', [
      ...plains(4),
      skipEntries(1),
      skipEntries(2),
      skipEntries(1),
      ...plains(9),
    ])
  }
  const upgrade = (): void =>
    read.variant('upgrade error', [
      ...[one, one, plain, () => read.skip(read.byteVector), () => read.skip(read.u8)],
      () => read.skip(read.id, read.id),
    ])
  return [
    ...plains(4),
    ...[sizes, sizes, one],
    ...plains(4),
    ...[() => read.skip(() => read.option(location)), () => read.skip(location, read.u64)],
    ...plains(6),
    ...[argument, () => read.skip(read.u16, read.u8), skipEntries(2), skipEntries(1), plain, sizes],
    ...plains(2),
    ...[upgrade, sizes],
    ...plains(4),
    () => read.skip(() => read.list(read.id)),
    () => read.skip(read.id, read.text),
    () => read.skip(read.text),
    plain,
    ...[sizes, sizes],
    ...plains(2),
    one,
  ]
}
