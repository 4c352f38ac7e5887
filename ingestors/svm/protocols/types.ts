import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { SvmInstruction } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import { dataViewOf, matchDiscriminator, readU32BigEndian, u64 } from '../layout/borsh-layout.ts'
import { programData } from '../layout/program-logs.ts'
import { callerIndexOf, directInnerInstructions, type SvmTxContext } from './tx-context.ts'

/** An instruction whose data was kept. */
export interface InstructionWithData extends SvmInstruction {
  readonly data: Uint8Array
}

/** The instruction is of a program that decoders read. */
export const hasData = (
  instruction: SvmInstruction | undefined,
): instruction is InstructionWithData => instruction !== undefined && instruction.data !== null

/**
 * Reads one instruction of a program at its place in the transaction's list: adds to the scope, or says why it could not be
 * taken.
 */
export type SvmReader = (
  scope: SvmTxContext,
  instruction: InstructionWithData,
  at: number,
) => DropReason | undefined

/** A decoder family: how the programs of its protocols are read. */
export interface SvmFamily {
  readonly family: ProtocolRow['family']
  readonly reader: (row: ProtocolRow, program: string) => SvmReader
}

/** An instruction of a listed program while it is read. */
export interface ListedInstruction {
  readonly row: ProtocolRow
  readonly program: string
  readonly instruction: InstructionWithData
  readonly at: number
}

/** The same with its transaction. */
export interface InstructionContext extends ListedInstruction {
  readonly scope: SvmTxContext
}

/** Reads an instruction of known type; the reason when it cannot be taken. */
export type InstructionReader = (reading: InstructionContext) => DropReason | undefined

/** Reader of a program by the first eight bytes of its instructions. */
export const readByInstruction = (
  instructions: Readonly<Record<string, InstructionReader>>,
): SvmFamily['reader'] => {
  const readerAt = matchDiscriminator(instructions)
  return (row, program) => (scope, instruction, at) =>
    readerAt(instruction.data, 0)?.({ scope, row, program, instruction, at })
}

/**
 * An event that a program reported by calling itself, or in its log: then the instruction that wrote it is its own caller. Its
 * fields start at `EVENT_FIELDS_OFFSET`.
 */
export interface ProgramEvent {
  readonly row: ProtocolRow
  readonly program: string
  readonly data: Uint8Array
  readonly view: DataView
  readonly at: number
  readonly instruction: SvmInstruction
  /** What emitted it. */
  readonly caller: InstructionWithData
  readonly callerIndex: number
}

/** Fields of an event lie behind the self-call's tag and the event's own. */
export const EVENT_FIELDS_OFFSET = 16

/** A number of an event, by its offset among the fields. */
export const eventU64 = ({ view }: ProgramEvent, offset: number): bigint =>
  u64(view, EVENT_FIELDS_OFFSET + offset)

/** Reads an event of known type; the reason when it cannot be taken. */
export type EventReader = (scope: SvmTxContext, event: ProgramEvent) => DropReason | undefined

/** Bytes that an event has at least, and what reads it. */
export interface EventType {
  readonly bytes: number
  readonly read: EventReader
}

/** First half and second half of the tag of a self-call, sha256("anchor:event") read backwards. Source: anchor-lang. */
const EVENT_CPI_DISCRIMINATOR = [0xe445a52e, 0x51cb9a1d] as const

/**
 * Reader of a program that tells its events by calling itself. Such a call is signed by an address that only the program can
 * sign for, so a real one stands right below an instruction of the same program.
 */
export const readCpiEvents = (events: Readonly<Record<string, EventType>>): SvmFamily['reader'] => {
  const eventAt = matchDiscriminator(events)
  return (row, program) => (scope, instruction, at) => {
    const { data } = instruction
    if (data.length < EVENT_FIELDS_OFFSET) return undefined
    if (
      readU32BigEndian(data, 0) !== EVENT_CPI_DISCRIMINATOR[0] ||
      readU32BigEndian(data, 4) !== EVENT_CPI_DISCRIMINATOR[1]
    )
      return undefined
    const event = eventAt(data, 8)
    if (event === undefined) return undefined
    if (data.length < EVENT_FIELDS_OFFSET + event.bytes) return 'truncated-data'
    const above = callerIndexOf(scope, at)
    const caller = scope.tx.instructions[above]
    if (!hasData(caller) || caller.program !== program) return 'unexpected-caller'
    const view = dataViewOf(data)
    return event.read(scope, {
      row,
      program,
      data,
      view,
      at,
      instruction,
      caller,
      callerIndex: above,
    })
  }
}

/** The instruction that reported an event also reported one of another type: a newer layout of the same. */
export const emittedAlso = (
  scope: SvmTxContext,
  { program, callerIndex: above }: ProgramEvent,
  tag: string,
): boolean => {
  const wanted = [Number.parseInt(tag.slice(0, 8), 16), Number.parseInt(tag.slice(8), 16)] as const
  return directInnerInstructions(scope, above).some(
    (called) =>
      called.program === program &&
      hasData(called) &&
      readU32BigEndian(called.data, 0) === EVENT_CPI_DISCRIMINATOR[0] &&
      readU32BigEndian(called.data, 8) === wanted[0] &&
      readU32BigEndian(called.data, 12) === wanted[1],
  )
}

/** Fields of a log event lie behind its tag. */
export const LOG_EVENT_FIELDS_OFFSET = 8

const LOG_EVENT_PADDING = new Uint8Array(EVENT_FIELDS_OFFSET - LOG_EVENT_FIELDS_OFFSET)

/**
 * Reader of a program that tells its events in its log, by the lines that each instruction wrote itself. `silent` reads
 * instructions, by their first eight bytes, that wrote none of these events: logs are cut at 10 kB.
 */
export const readLogEvents = (
  events: Readonly<Record<string, EventType>>,
  silent: Readonly<Record<string, InstructionReader>> = {},
): SvmFamily['reader'] => {
  const eventAt = matchDiscriminator(events)
  const unlisted = readByInstruction(silent)
  return (row, program) => {
    const readSilent = unlisted(row, program)
    return (scope, instruction, at) => {
      const reasons: (DropReason | undefined)[] = []
      for (const reported of programData(instruction)) {
        const event = eventAt(reported, 0)
        if (event === undefined) continue
        const data = Buffer.concat([LOG_EVENT_PADDING, reported])
        const view = dataViewOf(data)
        const caller = instruction
        reasons.push(
          data.length < EVENT_FIELDS_OFFSET + event.bytes
            ? 'truncated-data'
            : event.read(scope, {
                row,
                program,
                data,
                view,
                at,
                instruction,
                caller,
                callerIndex: at,
              }),
        )
      }
      return reasons.length === 0
        ? readSilent(scope, instruction, at)
        : reasons.find((reason) => reason !== undefined)
    }
  }
}

/** A log event: its first eight bytes in hex, and how many its fields have at least. */
export interface LogEventType {
  readonly tag: string
  readonly bytes: number
}

/**
 * Log events of one type that an instruction wrote itself, in the order in which it wrote them. Logs are cut at 10 kB, so an
 * event may be missing: nothing may hang on it that the transaction's transfers tell as well.
 */
export const logEventsOf = (
  instruction: SvmInstruction,
  { tag, bytes }: LogEventType,
): readonly Uint8Array[] =>
  programData(instruction).filter(
    (data) =>
      data.length >= LOG_EVENT_FIELDS_OFFSET + bytes &&
      data.toString('hex', 0, LOG_EVENT_FIELDS_OFFSET) === tag,
  )
