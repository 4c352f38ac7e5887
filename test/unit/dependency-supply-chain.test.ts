import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { UWS_BINARIES } from '../../schemas/uws-binaries.ts'
import { uwsBinaryName, verifyUwsBinary } from '../../serving/realtime/uws-binary.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const json = (name: string) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'))

interface Locked {
  readonly integrity?: string
  readonly resolved?: string
  readonly dev?: boolean
  readonly license?: string
  readonly version?: string
  readonly optional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
}
const locked = Object.entries(
  (json('package-lock.json') as { readonly packages: Readonly<Record<string, Locked>> }).packages,
).filter(([path]) => path !== '')
const manifest = json('package.json') as { readonly license: string }

/** Licences of what ships: permissive ones. SPDX identifiers. */
const PERMISSIVE =
  /^(MIT|MIT-0|ISC|Apache-2\.0|BSD-2-Clause|BSD-3-Clause|0BSD|BlueOak-1\.0\.0|Python-2\.0|Unlicense|CC0-1\.0|Zlib)$/

const isPermissive = (expression: string): boolean => {
  const text = expression.replace(/[()]/g, '').trim()
  if (/ OR /i.test(text)) return text.split(/ OR /i).some(isPermissive)
  if (/ AND /i.test(text)) return text.split(/ AND /i).every(isPermissive)
  return PERMISSIVE.test(text)
}

/** Whether a package is installed where the image runs and tests run: Linux on x64 with glibc. */
const isForLinux = ({ os = [], cpu = [], libc = [] }: Locked): boolean =>
  (os.length === 0 || os.includes('linux')) &&
  (cpu.length === 0 || cpu.includes('x64')) &&
  (libc.length === 0 || libc.includes('glibc'))

const isTwoClauseBsd = (text: string): boolean =>
  /Redistributions of source code[\s\S]*Redistributions in binary form/.test(text) &&
  !/Neither the name|advertising materials/.test(text)

/** What a package says of itself; where its description is silent, the name at the top of its licence file. */
const licenceOf = (path: string): string | undefined => {
  const { license } = json(join(path, 'package.json')) as Locked
  const file = join(ROOT, path, 'LICENSE')
  // The package names no clauses, its file has the two.
  if (license === 'BSD' && isTwoClauseBsd(readFileSync(file, 'utf8'))) return 'BSD-2-Clause'
  if (license !== undefined) return license
  return existsSync(file) && /^\s*(The )?MIT License/i.test(readFileSync(file, 'utf8'))
    ? 'MIT'
    : undefined
}

test('every package of package-lock.json has a content hash and no download address', () => {
  const loose = locked.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? ''))
  const needed = loose.filter(([, row]) => isForLinux(row) || row.optional !== true)
  // Binaries of other platforms, which the registry did not show when the lockfile was made: npm asks for their hash then.
  assert.deepEqual(
    needed.map(([path]) => path),
    [],
  )
  const addressed = locked.filter(([, { resolved }]) => resolved !== undefined)
  assert.deepEqual(
    addressed.map(([path]) => path),
    [],
  )
})

test('every package that ships has a permissive licence', () => {
  const shipped = locked.filter(([, { dev }]) => dev !== true)
  assert.ok(shipped.length > 50)
  const wrong = shipped
    .filter(([path, { optional }]) => optional !== true || existsSync(join(ROOT, path)))
    .map(([path, row]) => [path, licenceOf(path) ?? row.license ?? 'none'] as const)
    .filter(([, licence]) => !isPermissive(licence))
  assert.deepEqual(wrong, [])
  assert.equal(isPermissive('GPL-3.0'), false)
  assert.equal(isPermissive('(MIT OR GPL-3.0)'), true)
  assert.equal(isPermissive('MIT AND BUSL-1.1'), false)
})

test('no dependency runs a script at installation', () => {
  assert.match(readFileSync(join(ROOT, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m)
})

test('package.json, LICENSE and NOTICE name Apache-2.0 and the authors', () => {
  assert.equal(manifest.license, 'Apache-2.0')
  assert.match(
    readFileSync(join(ROOT, 'LICENSE'), 'utf8'),
    /Apache License\s+Version 2\.0, January 2004/,
  )
  assert.match(readFileSync(join(ROOT, 'NOTICE'), 'utf8'), /the Sluice authors/)
})

test('the native uWebSockets binary has its pinned SHA-256 hash', () => {
  if (process.platform === 'linux') assert.doesNotThrow(() => verifyUwsBinary())
  assert.ok(UWS_BINARIES[uwsBinaryName()] !== undefined || process.platform !== 'linux')
})

test('a native uWebSockets binary with another hash or without a known hash is not loaded', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-uws-'))
  writeFileSync(join(folder, 'uws_a.node'), 'changed')
  assert.throws(
    () => verifyUwsBinary('uws_a.node', folder, { 'uws_a.node': '0'.repeat(64) }),
    /SHA-256/,
  )
  assert.throws(() => verifyUwsBinary('uws_b.node', folder), /no known checksum/)
  rmSync(folder, { recursive: true, force: true })
})

test('the Docker image has one base named by digest, lists its contents, and does not run as root', () => {
  const lines = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').split('\n')
  const args = lines.filter((line) => line.startsWith('ARG '))
  assert.equal(args.length, 1)
  const [, version, digest] =
    /^ARG NODE_IMAGE=node:(\d+)-[\w-]+@sha256:([0-9a-f]+)$/.exec(args[0] ?? '') ?? []
  assert.ok(['22', '24'].includes(version ?? ''), `Node ${version} is a supported one`)
  assert.equal(digest?.length, 64)
  const bases = lines.filter((line) => line.startsWith('FROM '))
  assert.ok(bases.length > 0)
  for (const base of bases) assert.match(base, /^FROM \$\{NODE_IMAGE\}( AS \w+)?$/)
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
  assert.match(lines.join('\n'), /npm sbom --omit=dev --sbom-format=cyclonedx > sbom\.cdx\.json/)
  assert.ok(last.some((line) => line.startsWith('COPY ') && line.includes('sbom.cdx.json')))
  assert.ok(last.includes('USER node'))
})
