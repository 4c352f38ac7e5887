/** The commands of the guide in docs/swap.md, as they stand there, from nothing to a mined swap. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/ports.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HEADING = '## A first swap on a local chain'
const LIMIT_MS = 240_000

/** Shell blocks below the heading, up to the next one. */
const guideBlocks = (): readonly string[] => {
  const page = readFileSync(join(ROOT, 'docs', 'swap.md'), 'utf8')
  const section = page.slice(page.indexOf(HEADING) + HEADING.length).split(/^## /m)[0] ?? ''
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)
}

/** A folder like a clone with its packages: what the commands write stays out of the repository. */
const makeClone = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-guide-'))
  for (const name of readdirSync(ROOT)) {
    if (name !== '.data') symlinkSync(join(ROOT, name), join(folder, name))
  }
  return folder
}

test('the commands of the guide swap on a local chain', async () => {
  const blocks = guideBlocks()
  assert.ok(blocks.length >= 5, `${blocks.length} blocks`)
  const folder = makeClone()
  const { PATH = '', HOME = '' } = process.env
  const script = [...blocks, 'echo; echo "JOB $(cat .data/swap/job.json)"']
  const shell = spawn('sh', ['-e', '-c', script.join('\n')], {
    cwd: folder,
    env: { PATH, HOME, PORT: String(await freePort()) },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk
    })
  }
  const endGroup = (): void => {
    try {
      process.kill(-(shell.pid ?? 0), 'SIGKILL')
    } catch {
      // Everything has ended by itself.
    }
  }
  const timer = setTimeout(endGroup, LIMIT_MS)
  try {
    // Not `close`: what runs in the background may hold the pipes a while longer.
    const [status] = await once(shell, 'exit')
    assert.equal(status, 0, output)
    const job = JSON.parse(/^JOB (.*)$/m.exec(output)?.[1] ?? '')
    assert.equal(job.state, 'completed', output)
    assert.ok(job.result.gasUsed !== undefined, JSON.stringify(job))
  } finally {
    clearTimeout(timer)
    endGroup()
    rmSync(folder, { recursive: true, force: true })
  }
})
