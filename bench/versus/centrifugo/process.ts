import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cachedPath, fetchOnce, runProgram } from '../../../test/support/download.ts'
import { freePort } from '../../../test/support/ports.ts'
import { NotInstalled } from '../../not-installed.ts'
import { stopChild } from '../run.ts'

const MODULE = fileURLToPath(new URL('./', import.meta.url))
const PACKAGE = 'github.com/centrifugal/centrifugo/v5'
/** Named after the version of Centrifugo in go.mod. */
const PROGRAM = cachedPath('centrifugo-5.4.9')
/** Compiling it the first time takes minutes on a busy machine. */
const BUILD_TIMEOUT_MS = 900_000
const START_LIMIT_MS = 15_000
const LOOK_MS = 50
const API_KEY = 'bench'

/** What is published: the channel, and the JSON text of the data. */
export interface Publication {
  readonly channel: string
  readonly data: string
}

export interface Centrifugo {
  readonly pid: number
  readonly port: number
  /** Publishes all of them with one request. Throws where one was refused. */
  publish(publications: readonly Publication[]): Promise<void>
  stop(): Promise<void>
}

/** Compiles Centrifugo where it is missing: needs `go` 1.24 on the path and, the first time, Go's module proxy. Throws `NotInstalled`. */
export const installCentrifugo = async (): Promise<void> => {
  try {
    await fetchOnce(PROGRAM, async (draft) => {
      console.error('# versus-streams: compiling Centrifugo')
      await runProgram('go', ['build', '-o', join(draft, 'centrifugo'), PACKAGE], {
        cwd: MODULE,
        timeout: BUILD_TIMEOUT_MS,
      })
    })
  } catch (error) {
    const [why] = String((error as { stderr?: string }).stderr || (error as Error).message)
      .split('\n')
      .filter((line) => !/^(go: downloading|#)/.test(line))
    throw new NotInstalled(
      `not run, because Centrifugo could not be compiled (Go 1.24 and Go's module proxy are needed): ${why}`,
    )
  }
}

/**
 * Its configuration: one engine in memory, the tokens of our own issuer, and channels that are kept and recovered as ours are
 * (`HISTORY_LIMITS`). Everything else is its default.
 */
const centrifugoConfig = (port: number, publicKeyPem: string) => ({
  address: '127.0.0.1',
  port: String(port),
  health: true,
  log_level: 'error',
  api_key: API_KEY,
  token_rsa_public_key: publicKeyPem,
  namespaces: [
    {
      name: 'dex-trade',
      history_size: 300,
      history_ttl: '300s',
      force_recovery: true,
      allow_subscribe_for_client: true,
    },
  ],
})

/** Starts it on a free port. `publicKeyPem`: the RSA key that connection tokens are signed with. */
export const startCentrifugo = async (publicKeyPem: string): Promise<Centrifugo> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-centrifugo-'))
  const port = await freePort()
  const config = join(folder, 'config.json')
  writeFileSync(config, JSON.stringify(centrifugoConfig(port, publicKeyPem)))
  const child = spawn(join(PROGRAM, 'centrifugo'), ['--config', config], { stdio: 'inherit' })
  const stop = async (): Promise<void> => {
    await stopChild(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await waitUntilHealthy(child, port)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    pid: child.pid ?? 0,
    port,
    publish: (publications) => publishTo(port, publications),
    stop,
  }
}

const waitUntilHealthy = async (child: ChildProcess, port: number): Promise<void> => {
  const limitMs = Date.now() + START_LIMIT_MS
  while (child.exitCode === null && Date.now() < limitMs) {
    const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
    if (answer?.ok) return
    await sleep(LOOK_MS)
  }
  throw new Error('Centrifugo did not start')
}

/** Source: https://centrifugal.dev/docs/5/server/server_api#batch */
const publishTo = async (port: number, publications: readonly Publication[]): Promise<void> => {
  const commands = publications.map(
    ({ channel, data }) => `{"publish":{"channel":"${channel}","data":${data}}}`,
  )
  const answer = await fetch(`http://127.0.0.1:${port}/api/batch`, {
    method: 'POST',
    headers: { 'X-API-Key': API_KEY, 'Content-Type': 'application/json' },
    body: `{"commands":[${commands.join(',')}]}`,
  })
  const text = await answer.text()
  if (!answer.ok || text.includes('"error"'))
    throw new Error(`Centrifugo refused publications: ${answer.status} ${text.slice(0, 200)}`)
}
