import type { Random } from '../../../simulator/node/random.ts'

/** A running instance as the cases reach it. */
export interface FuzzTarget {
  readonly ports: Readonly<Record<'public' | 'streams' | 'admin' | 'ops', number>>
  /** A key of an organization of its own at every call, round and round, so that no limit hides what lies behind it. */
  readonly nextKey: () => string
  readonly adminToken: string
  readonly clientId: string
  readonly clientSecret: string
  /** Words that lead somewhere: a chain and addresses that it has. */
  readonly chain: string
  readonly words: Readonly<Record<'token' | 'pool' | 'wallet', string>>
}

/** Runs the cases of one surface. */
export interface FuzzRunner {
  /** One case; all that it does follows from `random`. Rejects with what is wrong; the message names the case in short. */
  run(random: Random): Promise<void>
  close(): Promise<void>
}

/** One surface: a row of `SURFACES` and a file of its own. */
export interface FuzzSurface {
  readonly name: string
  /** Part of all cases, relative to the other surfaces. */
  readonly share: number
  /** Cases at the same time. Default: 8. */
  readonly width?: number
  /** False: the cases need no running instance. Default: true. */
  readonly needsTarget?: boolean
  open(target: FuzzTarget): Promise<FuzzRunner>
}

/** A case that came out wrong. */
export class FuzzFailure extends Error {}

/** Codes that an answer with status 501 or 503 may have: a part that an installation lacks, a chain behind, load. */
const EXPECTED_ERROR_CODES: ReadonlySet<unknown> = new Set([40024, 50003, 50008, 50018, 50301])

/** Throws `FuzzFailure` unless the status is below 500, or typed as something that is nobody's mistake. */
export const assertServed = (status: number, body: string, what: string): void => {
  if (status < 500) return
  const [, code] = /"code":(\d+)/.exec(body) ?? []
  if ((status === 501 || status === 503) && EXPECTED_ERROR_CODES.has(Number(code))) return
  throw new FuzzFailure(`${status} ${body.slice(0, 200)} for ${what.slice(0, 400)}`)
}
