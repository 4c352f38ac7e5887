import type { State } from '../node/state.ts'
import type { Account, FixedAccount } from './accounts.ts'
import type { Launches } from './launches.ts'
import type { World } from './world.ts'

/** What programs run on. */
export interface Machine {
  readonly world: World
  readonly launches: Launches
  readonly state: State
  readonly slot: number
  readonly height: number
  /** Block time, whole seconds. */
  readonly timeSec: number
}

/** Instruction data and log lines are made when somebody reads them: most of a chain is made and never read. */
export type Data = () => Uint8Array

/** An instruction that ran; `height` 1 is the transaction's own. */
export interface Step {
  readonly height: number
  readonly program: FixedAccount
  readonly accounts: readonly Account[]
  /** One letter per account: r read, w written, s signs, S signs and is written. */
  readonly flags: string
  readonly data: Data
  /** Compute units of its own, calls not counted. */
  readonly units: number
  /** For its first line, `Program log: Instruction: …`. */
  readonly name?: string
}

/** A log line of the program that runs at this height. */
export interface Line {
  readonly height: number
  readonly line: string | (() => string)
}

/** An instruction as it is called. */
export type Call = Omit<Step, 'height'>

/** A program's error; the transaction fails and keeps nothing but its fee. */
export class Failed extends Error {
  readonly code: number

  constructor(code: number, reason: string) {
    super(reason)
    this.name = 'Failed'
    this.code = code
  }
}

/** One transaction while it runs: its state and the trace of what ran. */
export class Run {
  readonly machine: Machine
  readonly trace: (Step | Line)[] = []
  /** Instructions that are open now; after a failure: those that were open when it came. */
  height = 0

  constructor(machine: Machine) {
    this.machine = machine
  }

  /** Calls a program; `body` is what it does. */
  call(call: Call, body?: () => void): void {
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
    throw new Failed(code, reason)
  }
}
