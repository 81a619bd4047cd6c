;; Exact scan over int8 vectors. Compiled into kernel-bytes.ts; a test compares the two.
;;
;; Rows stand in blocks of eight lanes. A block is
;;     0  scale   f32 x 8   what one int8 step of the unit-length row is worth
;;    32  first   i32 x 8   0 visible to everybody, -1 dead lane, otherwise an owner
;;    64  second  i32 x 8   another owner, or 0
;;    96  values  i8        for every group of 16 dimensions: lane 0's sixteen values, lane 1's, ... lane 7's
;; so that the scan reads memory in order and each lane keeps its own sum.
;;
;; Sixteen values are eight 16-bit words: dimension i of the group (0 to 7) is the low byte of word i, dimension 8 + i
;; the high byte. Multiplied as it stands, a word gives 256 times its high value and the low byte, unsigned, as a
;; stray fraction of it; shifted left by eight it gives 256 times its low value. So two multiplications and one shift
;; take sixteen values without widening them. `quantise` knows the stray fraction when it rounds the high value, which
;; is why it costs no precision. All sums are thus 256 times too large; the caller's `step` takes that back.
;;
;; Fixed addresses (the same numbers stand in kernel.ts):
;;     0x00000  owners that the viewer may read as, i32
;;     0x10000  candidates: a binary heap of (f32 cosine, i32 slot), the smallest at the root
;;     0x20000  numbers of the blocks to scan, i32
;;     0x30000  query, i16, in the order of the values
;;     0x40000  a float32 vector on its way in
;;     0x50000  block 0
(module
  (import "env" "memory" (memory 6 65536))
  (global $heap_size (mut i32) (i32.const 0))
  (global $scanned (mut i32) (i32.const 0))
  (global $sums (mut v128) (v128.const f64x2 0 0))
  (global $squares (mut v128) (v128.const f64x2 0 0))
  (global $largest (mut f32) (f32.const 0))

  ;; Starts a search with an empty heap of `size` entries.
  (func (export "reset") (param $size i32)
    (local $at i32) (local $end i32)
    (global.set $heap_size (local.get $size))
    (global.set $scanned (i32.const 0))
    (global.set $sums (v128.const f64x2 0 0))
    (global.set $squares (v128.const f64x2 0 0))
    (local.set $at (i32.const 0x10000))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $size) (i32.const 3))))
    (loop $next
      (f32.store (local.get $at) (f32.const -inf))
      (i32.store offset=4 (local.get $at) (i32.const -1))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end)))))

  (func (export "scanned") (result i32) (global.get $scanned))
  (func (export "sum") (result f64)
    (f64.add (f64x2.extract_lane 0 (global.get $sums)) (f64x2.extract_lane 1 (global.get $sums))))
  (func (export "squares") (result f64)
    (f64.add (f64x2.extract_lane 0 (global.get $squares)) (f64x2.extract_lane 1 (global.get $squares))))

  ;; Replaces the smallest candidate and restores the heap.
  (func $offer (param $cosine f32) (param $slot i32)
    (local $hole i32) (local $child i32) (local $at i32)
    (block $placed
      (loop $down
        (local.set $child (i32.add (i32.shl (local.get $hole) (i32.const 1)) (i32.const 1)))
        (br_if $placed (i32.ge_u (local.get $child) (global.get $heap_size)))
        (local.set $at (i32.shl (local.get $child) (i32.const 3)))
        (if (i32.lt_u (i32.add (local.get $child) (i32.const 1)) (global.get $heap_size))
          (then
            (if (f32.lt (f32.load offset=0x10008 (local.get $at)) (f32.load offset=0x10000 (local.get $at)))
              (then
                (local.set $child (i32.add (local.get $child) (i32.const 1)))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))))))
        (br_if $placed (f32.ge (f32.load offset=0x10000 (local.get $at)) (local.get $cosine)))
        (i64.store offset=0x10000 (i32.shl (local.get $hole) (i32.const 3))
          (i64.load offset=0x10000 (local.get $at)))
        (local.set $hole (local.get $child))
        (br $down)))
    (local.set $at (i32.shl (local.get $hole) (i32.const 3)))
    (f32.store offset=0x10000 (local.get $at) (local.get $cosine))
    (i32.store offset=0x10004 (local.get $at) (local.get $slot)))

  ;; The lanes of four rows that the viewer may see, as a mask. `viewers` is -1 for a viewer who sees everything.
  (func $visible (param $at i32) (param $viewers i32) (result v128)
    (local $first v128) (local $second v128) (local $mask v128) (local $viewer v128) (local $end i32)
    (local.set $first (v128.load offset=32 (local.get $at)))
    (if (i32.eq (local.get $viewers) (i32.const -1))
      (then (return (i32x4.ne (local.get $first) (v128.const i32x4 -1 -1 -1 -1)))))
    (local.set $mask (i32x4.eq (local.get $first) (v128.const i32x4 0 0 0 0)))
    (if (i32x4.all_true (local.get $mask)) (then (return (local.get $mask))))
    (local.set $second (v128.load offset=64 (local.get $at)))
    (local.set $end (i32.shl (local.get $viewers) (i32.const 2)))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $end)))
        (local.set $end (i32.sub (local.get $end) (i32.const 4)))
        (local.set $viewer (v128.load32_splat (local.get $end)))
        (local.set $mask (v128.or (local.get $mask) (v128.or
          (i32x4.eq (local.get $first) (local.get $viewer))
          (i32x4.eq (local.get $second) (local.get $viewer)))))
        (br $next)))
    (local.get $mask))

  ;; The four horizontal sums of four vectors.
  (func $sum4 (param $a v128) (param $b v128) (param $c v128) (param $d v128) (result v128)
    (local $ab v128) (local $cd v128)
    (local.set $ab (i32x4.add
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $a) (local.get $b))
      (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $a) (local.get $b))))
    (local.set $cd (i32x4.add
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $c) (local.get $d))
      (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $c) (local.get $d))))
    (i32x4.add
      (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $ab) (local.get $cd))
      (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $ab) (local.get $cd))))

  ;; Adds four visible cosines to the statistics and offers those that beat the heap's root.
  (func $take (param $cosines v128) (param $mask v128) (param $slot i32)
    (local $part v128)
    (global.set $scanned (i32.add (global.get $scanned)
      (i32.popcnt (i32x4.bitmask (local.get $mask)))))
    (local.set $cosines (v128.and (local.get $cosines) (local.get $mask)))
    (local.set $part (f64x2.promote_low_f32x4 (local.get $cosines)))
    (global.set $sums (f64x2.add (global.get $sums) (local.get $part)))
    (global.set $squares (f64x2.add (global.get $squares) (f64x2.mul (local.get $part) (local.get $part))))
    (local.set $part (f64x2.promote_low_f32x4
      (i8x16.shuffle 8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15 (local.get $cosines) (local.get $cosines))))
    (global.set $sums (f64x2.add (global.get $sums) (local.get $part)))
    (global.set $squares (f64x2.add (global.get $squares) (f64x2.mul (local.get $part) (local.get $part))))
    (local.set $part (v128.and (local.get $mask)
      (f32x4.gt (local.get $cosines) (v128.load32_splat (i32.const 0x10000)))))
    (if (i32.eqz (v128.any_true (local.get $part))) (then (return)))
    (if (i32x4.extract_lane 0 (local.get $part))
      (then (call $offer (f32x4.extract_lane 0 (local.get $cosines)) (local.get $slot))))
    (if (i32.and (i32x4.extract_lane 1 (local.get $part))
          (f32.gt (f32x4.extract_lane 1 (local.get $cosines)) (f32.load (i32.const 0x10000))))
      (then (call $offer (f32x4.extract_lane 1 (local.get $cosines)) (i32.add (local.get $slot) (i32.const 1)))))
    (if (i32.and (i32x4.extract_lane 2 (local.get $part))
          (f32.gt (f32x4.extract_lane 2 (local.get $cosines)) (f32.load (i32.const 0x10000))))
      (then (call $offer (f32x4.extract_lane 2 (local.get $cosines)) (i32.add (local.get $slot) (i32.const 2)))))
    (if (i32.and (i32x4.extract_lane 3 (local.get $part))
          (f32.gt (f32x4.extract_lane 3 (local.get $cosines)) (f32.load (i32.const 0x10000))))
      (then (call $offer (f32x4.extract_lane 3 (local.get $cosines)) (i32.add (local.get $slot) (i32.const 3))))))

  ;; Scans `count` blocks: those of the list when `listed` is 1, otherwise 0, 1, 2, ...
  ;; `viewers` is the number of owners at address 0, or -1 for all. `step` is what one step of the query is worth.
  (func (export "scan") (param $listed i32) (param $count i32) (param $dim i32) (param $viewers i32) (param $step f32)
    (local $turn i32) (local $block i32) (local $head i32) (local $at i32) (local $query i32) (local $end i32)
    (local $low v128) (local $high v128) (local $steps v128)
    (local $words v128) (local $queryLow v128) (local $queryHigh v128)
    (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128)
    (local $a4 v128) (local $a5 v128) (local $a6 v128) (local $a7 v128)
    (local.set $steps (f32x4.splat (local.get $step)))
    (local.set $end (i32.add (i32.const 0x30000) (i32.shl (local.get $dim) (i32.const 1))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $turn) (local.get $count)))
        (local.set $block (local.get $turn))
        (if (local.get $listed)
          (then (local.set $block
            (i32.load offset=0x20000 (i32.shl (local.get $turn) (i32.const 2))))))
        (local.set $turn (i32.add (local.get $turn) (i32.const 1)))
        (local.set $head (i32.add (i32.const 0x50000)
          (i32.mul (local.get $block) (i32.add (i32.const 96) (i32.shl (local.get $dim) (i32.const 3))))))
        (local.set $low (call $visible (local.get $head) (local.get $viewers)))
        (local.set $high (call $visible (i32.add (local.get $head) (i32.const 16)) (local.get $viewers)))
        (br_if $next (i32.eqz (v128.any_true (v128.or (local.get $low) (local.get $high)))))
        (local.set $a0 (v128.const i32x4 0 0 0 0))
        (local.set $a1 (v128.const i32x4 0 0 0 0))
        (local.set $a2 (v128.const i32x4 0 0 0 0))
        (local.set $a3 (v128.const i32x4 0 0 0 0))
        (local.set $a4 (v128.const i32x4 0 0 0 0))
        (local.set $a5 (v128.const i32x4 0 0 0 0))
        (local.set $a6 (v128.const i32x4 0 0 0 0))
        (local.set $a7 (v128.const i32x4 0 0 0 0))
        (local.set $at (i32.add (local.get $head) (i32.const 96)))
        (local.set $query (i32.const 0x30000))
        (loop $dimensions
          (local.set $queryLow (v128.load (local.get $query)))
          (local.set $queryHigh (v128.load offset=16 (local.get $query)))
          (local.set $words (v128.load offset=0 (local.get $at)))
          (local.set $a0 (i32x4.add (local.get $a0) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $words) (local.get $queryHigh))
            (i32x4.dot_i16x8_s (i16x8.shl (local.get $words) (i32.const 8)) (local.get $queryLow)))))
          (local.set $words (v128.load offset=16 (local.get $at)))
          (local.set $a1 (i32x4.add (local.get $a1) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $words) (local.get $queryHigh))
            (i32x4.dot_i16x8_s (i16x8.shl (local.get $words) (i32.const 8)) (local.get $queryLow)))))
          (local.set $words (v128.load offset=32 (local.get $at)))
          (local.set $a2 (i32x4.add (local.get $a2) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $words) (local.get $queryHigh))
            (i32x4.dot_i16x8_s (i16x8.shl (local.get $words) (i32.const 8)) (local.get $queryLow)))))
          (local.set $words (v128.load offset=48 (local.get $at)))
          (local.set $a3 (i32x4.add (local.get $a3) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $words) (local.get $queryHigh))
            (i32x4.dot_i16x8_s (i16x8.shl (local.get $words) (i32.const 8)) (local.get $queryLow)))))
          (local.set $words (v128.load offset=64 (local.get $at)))
          (local.set $a4 (i32x4.add (local.get $a4) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $words) (local.get $queryHigh))
            (i32x4.dot_i16x8_s (i16x8.shl (local.get $words) (i32.const 8)) (local.get $queryLow)))))
          (local.set $words (v128.load offset=80 (local.get $at)))
          (local.set $a5 (i32x4.add (local.get $a5) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $words) (local.get $queryHigh))
            (i32x4.dot_i16x8_s (i16x8.shl (local.get $words) (i32.const 8)) (local.get $queryLow)))))
          (local.set $words (v128.load offset=96 (local.get $at)))
          (local.set $a6 (i32x4.add (local.get $a6) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $words) (local.get $queryHigh))
            (i32x4.dot_i16x8_s (i16x8.shl (local.get $words) (i32.const 8)) (local.get $queryLow)))))
          (local.set $words (v128.load offset=112 (local.get $at)))
          (local.set $a7 (i32x4.add (local.get $a7) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $words) (local.get $queryHigh))
            (i32x4.dot_i16x8_s (i16x8.shl (local.get $words) (i32.const 8)) (local.get $queryLow)))))
          (local.set $at (i32.add (local.get $at) (i32.const 128)))
          (local.set $query (i32.add (local.get $query) (i32.const 32)))
          (br_if $dimensions (i32.lt_u (local.get $query) (local.get $end))))
        (call $take
          (f32x4.mul (f32x4.mul (local.get $steps) (v128.load (local.get $head)))
            (f32x4.convert_i32x4_s (call $sum4 (local.get $a0) (local.get $a1) (local.get $a2) (local.get $a3))))
          (local.get $low) (i32.shl (local.get $block) (i32.const 3)))
        (call $take
          (f32x4.mul (f32x4.mul (local.get $steps) (v128.load offset=16 (local.get $head)))
            (f32x4.convert_i32x4_s (call $sum4 (local.get $a4) (local.get $a5) (local.get $a6) (local.get $a7))))
          (local.get $high) (i32.add (i32.shl (local.get $block) (i32.const 3)) (i32.const 4)))
        (br $next))))

  ;; The length of the incoming vector; keeps its largest magnitude for `quantise`. NaN and infinity pass through.
  (func (export "measure") (param $dim i32) (result f32)
    (local $at i32) (local $end i32) (local $values v128) (local $squares v128) (local $peaks v128)
    (local.set $at (i32.const 0x40000))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $dim) (i32.const 2))))
    (loop $next
      (local.set $values (v128.load (local.get $at)))
      (local.set $squares (f32x4.add (local.get $squares) (f32x4.mul (local.get $values) (local.get $values))))
      (local.set $peaks (f32x4.max (local.get $peaks) (f32x4.abs (local.get $values))))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (global.set $largest (f32.max
      (f32.max (f32x4.extract_lane 0 (local.get $peaks)) (f32x4.extract_lane 1 (local.get $peaks)))
      (f32.max (f32x4.extract_lane 2 (local.get $peaks)) (f32x4.extract_lane 3 (local.get $peaks)))))
    (f32.sqrt (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $squares)) (f32x4.extract_lane 1 (local.get $squares)))
      (f32.add (f32x4.extract_lane 2 (local.get $squares)) (f32x4.extract_lane 3 (local.get $squares))))))

  ;; Writes the measured vector into the lane whose first value is at `to`; answers its step before normalisation.
  (func (export "quantise") (param $to i32) (param $dim i32) (result f32)
    (local $at i32) (local $end i32) (local $factor v128) (local $low v128) (local $high v128) (local $words v128)
    (local.set $factor (f32x4.splat (f32.div (f32.const 127) (global.get $largest))))
    (local.set $at (i32.const 0x40000))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $dim) (i32.const 2))))
    (loop $next
      (local.set $low (i32x4.trunc_sat_f32x4_s (f32x4.nearest
        (f32x4.mul (local.get $factor) (v128.load offset=0 (local.get $at))))))
      (local.set $low (v128.and (local.get $low) (v128.const i32x4 255 255 255 255)))
      (local.set $high (i32x4.trunc_sat_f32x4_s (f32x4.nearest (f32x4.sub
        (f32x4.mul (local.get $factor) (v128.load offset=32 (local.get $at)))
        (f32x4.mul (f32x4.convert_i32x4_s (local.get $low)) (v128.const f32x4 0x1p-8 0x1p-8 0x1p-8 0x1p-8))))))
      (local.set $words (v128.or (local.get $low) (i32x4.shl (local.get $high) (i32.const 8))))
      (local.set $low (i32x4.trunc_sat_f32x4_s (f32x4.nearest
        (f32x4.mul (local.get $factor) (v128.load offset=16 (local.get $at))))))
      (local.set $low (v128.and (local.get $low) (v128.const i32x4 255 255 255 255)))
      (local.set $high (i32x4.trunc_sat_f32x4_s (f32x4.nearest (f32x4.sub
        (f32x4.mul (local.get $factor) (v128.load offset=48 (local.get $at)))
        (f32x4.mul (f32x4.convert_i32x4_s (local.get $low)) (v128.const f32x4 0x1p-8 0x1p-8 0x1p-8 0x1p-8))))))
      (v128.store (local.get $to) (i16x8.narrow_i32x4_s (local.get $words)
        (v128.or (local.get $low) (i32x4.shl (local.get $high) (i32.const 8)))))
      (local.set $to (i32.add (local.get $to) (i32.const 128)))
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end))))
    (f32.div (global.get $largest) (f32.const 127)))

  ;; Copies a lane's values onto another lane.
  (func (export "move") (param $from i32) (param $to i32) (param $dim i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $to) (i32.shl (local.get $dim) (i32.const 3))))
    (loop $next
      (v128.store (local.get $to) (v128.load (local.get $from)))
      (local.set $from (i32.add (local.get $from) (i32.const 128)))
      (local.set $to (i32.add (local.get $to) (i32.const 128)))
      (br_if $next (i32.ne (local.get $to) (local.get $end))))))
