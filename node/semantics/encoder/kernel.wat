;; Products of rows of int16 with rows of int8 weights. Compiled into kernel-bytes.ts; a test compares the two.
;;
;; Sums are int32: 1,280 products of 32,767 and 127, four of which share a lane's sum with each other, stay below 2^31.
(module
  (import "env" "memory" (memory 1 4096))

  ;; The sums of the lanes of four vectors.
  (func $sums (param $a v128) (param $b v128) (param $c v128) (param $d v128) (result v128)
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

  ;; Writes out[row][output], int32: the product of each row of `from` with the weights of each output. `inputs` is a
  ;; multiple of 8, `outputs` of 4, `rows` of 2; `stride` is the number of bytes from one row to the next, so that rows
  ;; may overlap.
  (func (export "multiply")
    (param $from i32) (param $stride i32) (param $rows i32)
    (param $weights i32) (param $inputs i32) (param $outputs i32) (param $to i32)
    (local $output i32) (local $row i32) (local $a i32) (local $w i32) (local $left i32) (local $out i32)
    (local $a0 v128) (local $a1 v128) (local $x v128)
    (local $s0 v128) (local $s1 v128) (local $s2 v128) (local $s3 v128)
    (local $t0 v128) (local $t1 v128) (local $t2 v128) (local $t3 v128)
    (local $w1 i32) (local $w2 i32) (local $w3 i32)
    (loop $outputs
      (local.set $row (i32.const 0))
      (loop $rows
        (local.set $a (i32.add (local.get $from) (i32.mul (local.get $row) (local.get $stride))))
        (local.set $w (i32.add (local.get $weights) (i32.mul (local.get $output) (local.get $inputs))))
        (local.set $w1 (i32.add (local.get $w) (local.get $inputs)))
        (local.set $w2 (i32.add (local.get $w1) (local.get $inputs)))
        (local.set $w3 (i32.add (local.get $w2) (local.get $inputs)))
        (local.set $s0 (v128.const i32x4 0 0 0 0)) (local.set $s1 (v128.const i32x4 0 0 0 0))
        (local.set $s2 (v128.const i32x4 0 0 0 0)) (local.set $s3 (v128.const i32x4 0 0 0 0))
        (local.set $t0 (v128.const i32x4 0 0 0 0)) (local.set $t1 (v128.const i32x4 0 0 0 0))
        (local.set $t2 (v128.const i32x4 0 0 0 0)) (local.set $t3 (v128.const i32x4 0 0 0 0))
        (local.set $left (local.get $inputs))
        (loop $inputs
          (local.set $a0 (v128.load (local.get $a)))
          (local.set $a1 (v128.load (i32.add (local.get $a) (local.get $stride))))
          (local.set $x (v128.load8x8_s (local.get $w)))
          (local.set $s0 (i32x4.add (local.get $s0) (i32x4.dot_i16x8_s (local.get $a0) (local.get $x))))
          (local.set $t0 (i32x4.add (local.get $t0) (i32x4.dot_i16x8_s (local.get $a1) (local.get $x))))
          (local.set $x (v128.load8x8_s (local.get $w1)))
          (local.set $s1 (i32x4.add (local.get $s1) (i32x4.dot_i16x8_s (local.get $a0) (local.get $x))))
          (local.set $t1 (i32x4.add (local.get $t1) (i32x4.dot_i16x8_s (local.get $a1) (local.get $x))))
          (local.set $x (v128.load8x8_s (local.get $w2)))
          (local.set $s2 (i32x4.add (local.get $s2) (i32x4.dot_i16x8_s (local.get $a0) (local.get $x))))
          (local.set $t2 (i32x4.add (local.get $t2) (i32x4.dot_i16x8_s (local.get $a1) (local.get $x))))
          (local.set $x (v128.load8x8_s (local.get $w3)))
          (local.set $s3 (i32x4.add (local.get $s3) (i32x4.dot_i16x8_s (local.get $a0) (local.get $x))))
          (local.set $t3 (i32x4.add (local.get $t3) (i32x4.dot_i16x8_s (local.get $a1) (local.get $x))))
          (local.set $a (i32.add (local.get $a) (i32.const 16)))
          (local.set $w (i32.add (local.get $w) (i32.const 8)))
          (local.set $w1 (i32.add (local.get $w1) (i32.const 8)))
          (local.set $w2 (i32.add (local.get $w2) (i32.const 8)))
          (local.set $w3 (i32.add (local.get $w3) (i32.const 8)))
          (local.set $left (i32.sub (local.get $left) (i32.const 8)))
          (br_if $inputs (local.get $left)))
        (local.set $out (i32.add (local.get $to)
          (i32.shl (i32.add (i32.mul (local.get $row) (local.get $outputs)) (local.get $output)) (i32.const 2))))
        (v128.store (local.get $out)
          (call $sums (local.get $s0) (local.get $s1) (local.get $s2) (local.get $s3)))
        (v128.store (i32.add (local.get $out) (i32.shl (local.get $outputs) (i32.const 2)))
          (call $sums (local.get $t0) (local.get $t1) (local.get $t2) (local.get $t3)))
        (local.set $row (i32.add (local.get $row) (i32.const 2)))
        (br_if $rows (i32.lt_u (local.get $row) (local.get $rows))))
      (local.set $output (i32.add (local.get $output) (i32.const 4)))
      (br_if $outputs (i32.lt_u (local.get $output) (local.get $outputs))))))
