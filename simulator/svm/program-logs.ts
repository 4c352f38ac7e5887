import type { InvokedInstruction } from './execution.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import { isInvocation } from './message.ts'
import type { SealedTransaction } from './transactions.ts'

/** Native programs write no line about the compute units that they used. */
const PROGRAMS_WITHOUT_UNIT_LOGS = new Set<InvokedInstruction['program']>([
  KNOWN_ACCOUNTS.system,
  KNOWN_ACCOUNTS.vote,
  KNOWN_ACCOUNTS.computeBudget,
])

/** An instruction that is open while the lines are written, and the compute units it used so far. */
interface OpenInvocation {
  readonly step: InvokedInstruction
  used: number
}

/** Log lines of a transaction, and the compute units that all of it used. */
export const programLogsOf = ({
  trace,
  failure,
  unitLimit,
}: SealedTransaction): { readonly lines: readonly string[]; readonly units: number } => {
  const lines: string[] = []
  const stack: OpenInvocation[] = []
  let units = 0

  const close = (): void => {
    const open = stack.pop()
    if (open === undefined) return
    const { program, height, units: own } = open.step
    const used = open.used + own
    const left = unitLimit - units + open.used
    units += own
    const parent = stack.at(-1)
    if (parent !== undefined) parent.used += used
    if (!PROGRAMS_WITHOUT_UNIT_LOGS.has(program))
      lines.push(`Program ${program.address} consumed ${used} of ${left} compute units`)
    const isFailed = failure !== undefined && height <= failure.height && failing
    const end = isFailed
      ? `failed: custom program error: 0x${failure.code.toString(16)}`
      : 'success'
    lines.push(`Program ${program.address} ${end}`)
  }
  const closeTo = (height: number): void => {
    while (stack.length > height) close()
  }

  let failing = false
  for (const item of trace) {
    if (isInvocation(item)) {
      closeTo(item.height - 1)
      lines.push(`Program ${item.program.address} invoke [${item.height}]`)
      if (item.name !== undefined) lines.push(`Program log: Instruction: ${item.name}`)
      stack.push({ step: item, used: 0 })
    } else {
      closeTo(item.height)
      lines.push(typeof item.line === 'string' ? item.line : item.line())
    }
  }
  if (failure !== undefined) {
    closeTo(failure.height)
    failing = true
  }
  closeTo(0)
  return { lines, units }
}
