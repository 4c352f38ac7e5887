import type { State } from '../node/state.ts'
import type { Account, FixedAccount } from './accounts.ts'
import type { LaunchRegistry } from './launches.ts'
import type { Scenario } from './scenario.ts'

/** What programs run on. */
export interface ExecutionContext {
  readonly scenario: Scenario
  readonly launches: LaunchRegistry
  readonly state: State
  readonly slot: number
  readonly height: number
  /** Block time, whole seconds. */
  readonly timeSec: number
}

/** Instruction data and log lines are made when they are read: most of a chain is made and never read. */
export type LazyBytes = () => Uint8Array

/** An instruction that ran; `height` 1 is the transaction's own. */
export interface InvokedInstruction {
  readonly height: number
  readonly program: FixedAccount
  readonly accounts: readonly Account[]
  /** One letter per account: r read, w written, s signs, S signs and is written. */
  readonly flags: string
  readonly data: LazyBytes
  /** Compute units of its own, calls not counted. */
  readonly units: number
  /** For its first line, `Program log: Instruction: …`. */
  readonly name?: string
}

/** A log line of the program that runs at this height. */
export interface ProgramLogLine {
  readonly height: number
  readonly line: string | (() => string)
}

/** An instruction as it is called. */
export type InstructionCall = Omit<InvokedInstruction, 'height'>

/** A program's error; the transaction fails and keeps nothing but its fee. */
export class ProgramError extends Error {
  readonly code: number

  constructor(code: number, reason: string) {
    super(reason)
    this.name = 'Failed'
    this.code = code
  }
}

/** One transaction while it runs: its state and the trace of what ran. */
export class TransactionExecution {
  readonly context: ExecutionContext
  readonly trace: (InvokedInstruction | ProgramLogLine)[] = []
  /** Instructions that are open now; after a failure: those that were open when it came. */
  height = 0

  constructor(machine: ExecutionContext) {
    this.context = machine
  }

  /** Calls a program; `body` is what it does. */
  invoke(call: InstructionCall, body?: () => void): void {
    this.height += 1
    this.trace.push({ height: this.height, ...call })
    body?.()
    this.height -= 1
  }

  /** A log line of the program that runs now. */
  log(line: string | (() => string)): void {
    this.trace.push({ height: this.height, line })
  }

  /** Fails the transaction, with the program's last words. */
  fail(code: number, reason: string): never {
    this.log(`Program log: ${reason}`)
    throw new ProgramError(code, reason)
  }
}
